import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemProblems } from '../../src/systems/check.js';

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'muster-systems-'));
  // Others pass through it.
  chmodSync(root, 0o755);
});
afterAll(() => rmSync(root, { recursive: true }));

const { username: me } = userInfo();

test('a user who is there, and roots that it may write to: nothing is wrong', async () => {
  expect(await systemProblems({ user: me, roots: [root] })).toEqual([]);
});

test('a user who is not there', async () => {
  expect(await systemProblems({ user: 'nobody-of-that-name', roots: [root] })).toEqual([
    expect.stringContaining("user 'nobody-of-that-name' does not exist on this node"),
  ]);
});

test('each root that is not there or is no directory is named', async () => {
  writeFileSync(join(root, 'file'), '');
  const problems = await systemProblems({ user: me, roots: [root, join(root, 'none'), join(root, 'file')] });
  expect(problems).toEqual([expect.stringContaining('none is not there'), expect.stringContaining('is no directory')]);
});

test('a root that the user may not write to', async () => {
  const closed = join(root, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o555);
  const user = me === 'root' ? 'nobody' : me;
  expect(await systemProblems({ user, roots: [closed] })).toEqual([
    expect.stringContaining(`'${user}' may not write to ${closed}`),
  ]);
});
