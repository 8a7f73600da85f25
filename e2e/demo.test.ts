import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { killMarked, MARKER, processesMarked, StartedProcess } from './support/started-process.js';

/** `npm run demo`, without the build before it. */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const marker = randomBytes(8).toString('hex');

afterEach(() => killMarked(marker));

test('the demo shows two jobs, exits 0 and leaves nothing running', async () => {
  const { PATH, HOME } = process.env;
  const demo = new StartedProcess('the demo', process.execPath, ['packages/cli/bin/muster.js', 'demo'], {
    cwd: ROOT,
    env: { PATH, HOME, [MARKER]: marker },
  });
  demo.closeInput();
  const { code } = await demo.exited;
  expect(code, demo.log).toBe(0);
  expect(demo.stdout).toMatch(/5 nodes completed successfully/);
  expect(demo.stdout).toMatch(/Linux/);
  expect(demo.stdout).toMatch(/completed with errors|failed/);
  expect(processesMarked(marker)).toEqual([]);
}, 60_000);
