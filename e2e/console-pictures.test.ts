import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, expect, test } from 'vitest';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const taken = mkdtempSync(join(tmpdir(), 'muster-pictures-'));

afterAll(() => rmSync(taken, { recursive: true }));

test('the pictures of the guide can be taken again from the demo, all of them and no others', () => {
  const { PATH, HOME, MUSTER_TEST_CHROMIUM } = process.env;
  execFileSync(process.execPath, ['scripts/record/console.mjs', taken], {
    cwd: ROOT,
    env: { PATH, HOME, MUSTER_TEST_CHROMIUM },
    stdio: 'pipe',
  });
  const guide = readFileSync(join(ROOT, 'docs/guide/console.md'), 'utf8');
  const shown = [...guide.matchAll(/\.\.\/console\/(\S+\.webp)/g)].map(([, name = '']) => name).sort();
  expect(shown.length).toBeGreaterThan(0);
  expect(readdirSync(taken).sort()).toEqual(shown);
  expect(readdirSync(join(ROOT, 'docs/console')).sort()).toEqual(shown);
});
