import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { killMarked, MARKER, processesMarked, StartedProcess } from './support/started-process.js';

/** `npm run demo`, without the build before it. */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const marker = randomBytes(8).toString('hex');

afterEach(() => killMarked(marker));

function start(...flags: readonly string[]): StartedProcess {
  const { PATH, HOME } = process.env;
  const demo = new StartedProcess('the demo', process.execPath, ['packages/cli/bin/muster.js', 'demo', ...flags], {
    cwd: ROOT,
    env: { PATH, HOME, [MARKER]: marker },
  });
  demo.closeInput();
  return demo;
}

/** Of the hosts of its tasks, which carry no mark: as long as one lives, its socket is there. */
function socketsIn(directory: string): string[] {
  const sockets = readFileSync('/proc/net/unix', 'utf8').split('\n');
  return sockets.filter((line) => line.includes(`${directory}/`));
}

function directoryOf(demo: StartedProcess): string {
  return /^Scratch directory (\S+)$/m.exec(demo.stdout)?.[1] ?? 'none was told';
}

test('the demo shows two push jobs, twenty tasks and a long job, exits 0 and leaves nothing running', async () => {
  const demo = start();
  const { code } = await demo.exited;
  expect(code, demo.log).toBe(0);
  expect(demo.stdout).toMatch(/5 nodes completed successfully/);
  expect(demo.stdout).toMatch(/Linux/);
  expect(demo.stdout).toMatch(/completed with errors|failed/);
  expect(demo.stdout).toMatch(/^db1 +refused +the command is not allowed/m);
  expect(demo.stdout).toMatch(/^added 20 tasks to resize/m);
  expect(demo.stdout).toMatch(/^resize +open +thumbnail +8 +0 +0 +20 +0 /m);
  expect(demo.stdout).toMatch(/^1 +failed .*13\.png is still being uploaded$/m);
  expect(demo.stdout).toMatch(/^2 +succeeded /m);
  expect(demo.stdout).toMatch(/ FINISHED +admin +Job complete$/m);
  expect(demo.stdout).toMatch(/^ +2 and$/im);
  expect(processesMarked(marker)).toEqual([]);
  expect(socketsIn(directoryOf(demo))).toEqual([]);
}, 60_000);

test('with --json it is one document', async () => {
  const demo = start('--json');
  const { code } = await demo.exited;
  expect(code, demo.log).toBe(0);
  const { jobs, queue, retried, longJob } = JSON.parse(demo.stdout);
  expect(jobs).toHaveLength(2);
  expect(queue).toMatchObject({ name: 'resize', counts: { succeeded: 20, failed: 0 } });
  expect(retried).toMatchObject({ status: 'succeeded', attempt: 2, failures: 1 });
  expect(longJob).toMatchObject({ appId: 'count-1.0', status: 'FINISHED' });
}, 60_000);

test('interrupted while tasks run, it leaves nothing running either', async () => {
  const demo = start();
  await demo.logged(/^added 20 tasks/m);
  await expect.poll(() => socketsIn(directoryOf(demo)).length).toBeGreaterThan(0);
  demo.signal('SIGINT');
  const { code } = await demo.exited;
  expect(code, demo.log).toBe(130);
  expect(processesMarked(marker)).toEqual([]);
  expect(socketsIn(directoryOf(demo))).toEqual([]);
}, 60_000);

test('kept running, it takes tasks, and its script stops all of it', async () => {
  const demo = start('--keep', '--json');
  const { code } = await demo.exited;
  expect(code, demo.log).toBe(0);
  const { running } = JSON.parse(demo.stdout);
  const directory = dirname(running.stop);
  // It has ended before its link has: that is good for a minute.
  const link = new URLSearchParams(new URL(running.console).hash.slice(1)).get('sign-in');
  const asked = { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ link }) };
  const preview = await fetch(`${running.url}/session/preview`, asked);
  expect([preview.status, await preview.text()]).toMatchObject([200, expect.stringContaining('admin')]);
  const add = ['packages/cli/bin/muster.js', 'task', 'add', 'resize', '--param', 'file=a.png', '--wait'];
  const { status, stderr } = spawnSync(process.execPath, add, {
    cwd: ROOT,
    env: { PATH: process.env.PATH, MUSTER_CONFIG: running.config },
    encoding: 'utf8',
  });
  expect(status, stderr).toBe(0);
  expect(socketsIn(directory).length).toBeGreaterThan(0);
  spawnSync('sh', [running.stop]);
  expect(processesMarked(marker)).toEqual([]);
  expect(socketsIn(directory)).toEqual([]);
  expect(existsSync(directory)).toBe(false);
}, 60_000);
