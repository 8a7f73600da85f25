import { existsSync } from 'node:fs';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { scratch } from '../support/agent.js';
import { endHosts, TaskNode } from '../support/task-node.js';

let place: Awaited<ReturnType<typeof scratch>>;
let node: TaskNode | null;
beforeEach(async () => {
  place = await scratch();
  node = null;
});
afterEach(async () => {
  node?.vanish();
  await endHosts(join(place.dir, 'tasks'));
  await place.dispose();
});

/** A node with a plugin `p` of this source. */
async function start(source: string, more: Record<string, unknown> = {}, grace = 30): Promise<TaskNode> {
  const module = join(place.dir, 'plugin.mjs');
  await writeFile(module, source);
  node = await TaskNode.start(join(place.dir, 'tasks'), { max: 10, plugins: { p: { module, ...more } } }, { grace });
  return node;
}

async function hosts(): Promise<string[]> {
  return readdir(join(place.dir, 'tasks', 'hosts'));
}

describe('a module', () => {
  it('gets its task; what it logs and what it returns is the output', async () => {
    const at = await start(`
      export async function run(task, { log }) {
        log(JSON.stringify([task.id, task.attempt, task.queue.name, task.node, task.params]));
        log('careful', 'stderr');
        return { stdout: 'done' };
      }`);
    at.assign('a', 'p', { width: 100 });
    const result = await at.result('a');
    expect(result).toMatchObject({ status: 1, exitCode: null, signal: null, stderr: 'careful\n' });
    expect(result.stdout).toBe('["a",1,"resize","node1",{"width":100}]\ndone');
  });
  it('that throws has failed, with its message as the reason and the stack in stderr', async () => {
    const at = await start(`export function run() { throw new RangeError('too wide'); }`);
    at.assign('a', 'p');
    const result = await at.result('a');
    expect(result).toMatchObject({ status: 2, retry: false, reason: 'RangeError: too wide' });
    expect(result.stderr).toContain('plugin.mjs');
  });
  it('that says more than is kept of a reason, for many tasks, disturbs nothing', async () => {
    const at = await start(`export function run() { throw new Error('x'.repeat(10_000_000)); }`);
    for (const id of ['a', 'b', 'c']) at.assign(id, 'p', {}, { outputLimit: 1_000 });
    for (const id of ['a', 'b', 'c']) {
      const { result } = await at.heard(id, 'finished');
      expect(result.reason).toHaveLength(1_024);
      expect(result.bytes?.stderr).toBeGreaterThan(10_000_000);
    }
  });
  it('says its own status, and that it wants to be run again', async () => {
    const at = await start(`export const run = ({ params }) => params;`);
    at.assign('a', 'p', { status: 44 });
    at.assign('b', 'p', { retry: true });
    expect(await at.result('a')).toMatchObject({ status: 44, retry: false });
    expect(await at.result('b')).toMatchObject({ status: 2, retry: true });
  });
  it('tells progress and output while it runs', async () => {
    const at = await start(`
      export async function run(task, { log, progress, signal }) {
        progress(0.5, 'half');
        log('first');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return { stdout: signal.reason.message };
      }`);
    at.assign('a', 'p');
    expect(await at.heard('a', 'progress')).toMatchObject({ fraction: 0.5, text: 'half' });
    await expect.poll(() => at.outputOf('a')).toBe('first\n');
    at.cancel({ id: 'a', attempt: 1 });
    expect(await at.heard('a', 'cancelled')).toMatchObject({ forced: false, bytes: { stdout: 28, stderr: 0 } });
    expect(at.outputOf('a')).toBe('first\nthe task was cancelled');
  });
  it('that cannot be loaded fails its tasks with what is wrong, and works once it is mended', async () => {
    const at = await start(`export const walk = 1;`);
    at.assign('a', 'p');
    const reason = `cannot run ${join(place.dir, 'plugin.mjs')}: it exports no function 'run'`;
    expect(await at.result('a')).toMatchObject({ status: 2, reason, stdout: null, stderr: reason });
    await writeFile(join(place.dir, 'plugin.mjs'), 'export const run = () => undefined;');
    at.assign('b', 'p');
    expect((await at.result('b')).status).toBe(1);
  });
  it('runs many tasks at a time in one process, no more than its concurrency', async () => {
    const source = `
      let now = 0; let most = 0;
      export async function run() {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 5));
        now -= 1;
        return { stdout: most + ' ' + process.pid };
      }`;
    const at = await start(source, { concurrency: 3 });
    for (let n = 0; n < 30; n += 1) at.assign(`t${n}`, 'p');
    const results = await Promise.all(Array.from({ length: 30 }, (_, n) => at.heard(`t${n}`, 'finished')));
    const [most, pids] = [0, 1].map((part) => results.map(({ result }) => result.stdout?.split(' ')[part]));
    expect(Math.max(...(most ?? []).map(Number))).toBe(3);
    expect(new Set(pids).size).toBe(1);
  });
  it('has as many worker processes as its plugin says', async () => {
    const source = `
      export async function run(task, { signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      }`;
    const at = await start(source, { processes: 2 });
    for (const id of ['a', 'b', 'c']) at.assign(id, 'p');
    for (const id of ['a', 'b', 'c']) await at.heard(id, 'started');
    expect(await hosts()).toHaveLength(2);
  });
  it('gets a fresh worker process after so many tasks', async () => {
    const at = await start(`export const run = () => ({ stdout: String(process.pid) });`, { recycle: { runs: 2 } });
    const pids: (string | null)[] = [];
    for (const id of ['a', 'b', 'c', 'd']) {
      at.assign(id, 'p');
      pids.push((await at.result(id)).stdout);
    }
    expect(pids[0]).toBe(pids[1]);
    expect(pids[2]).toBe(pids[3]);
    expect(pids[1]).not.toBe(pids[2]);
    await expect.poll(hosts).toHaveLength(0);
  });
});

describe('a module with a user of its own', () => {
  it('runs as that user where the agent may do that; else its tasks are given back with the reason', async () => {
    await chmod(place.dir, 0o711);
    const at = await start(
      `
      import { userInfo } from 'node:os';
      export const run = () => ({ stdout: userInfo().username });`,
      { user: 'nobody' },
    );
    at.assign('a', 'p');
    if (process.getuid?.() === 0) expect((await at.result('a')).stdout).toBe('nobody');
    else expect((await at.heard('a', 'returned')).reason).toBe("the agent may not run tasks as 'nobody'");
  });
});

const ONE_IN_TWO = `
  import { writeFileSync } from 'node:fs';
  export async function run({ params }, { signal }) {
    if (params.how === 'exit') process.exit(3);
    if (params.how === 'kill') process.kill(process.pid, 'SIGKILL');
    if (params.how === 'throw') setTimeout(() => { throw new Error('nobody catches this'); }, 1);
    if (params.how === 'block') {
      // Nothing that is sent leaves a process that is blocked.
      if (params.mark) writeFileSync(params.mark, '');
      for (;;);
    }
    if (params.how === 'deaf') await new Promise(() => undefined);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  }`;

describe('a worker process that ends', () => {
  it.each([
    ['exit', 'the worker process ended (exit status 3) while it ran'],
    ['kill', 'the worker process ended (SIGKILL) while it ran'],
    ['throw', 'the worker process ended while it ran: Error: nobody catches this'],
  ])('by %s fails its tasks and no others', async (how, reason) => {
    const at = await start(ONE_IN_TWO);
    at.assign('a', 'p', { how });
    expect(await at.result('a')).toMatchObject({ status: 2, retry: false, reason });
    at.assign('b', 'p');
    await at.heard('b', 'started');
    at.cancel({ id: 'b', attempt: 1 });
    await at.heard('b', 'cancelled');
  });
  it('ends with a task that does not listen, when that is cancelled', async () => {
    const at = await start(ONE_IN_TWO, {}, 0.3);
    at.assign('a', 'p', { how: 'deaf' });
    await at.heard('a', 'started');
    at.cancel({ id: 'a', attempt: 1 });
    expect(await at.heard('a', 'cancelled')).toMatchObject({ forced: true });
    await expect.poll(hosts).toHaveLength(0);
  });
  it('a task that blocks it is ended with it, by its time limit too', async () => {
    const at = await start(ONE_IN_TWO, { timeout: 0.2 }, 0.3);
    at.assign('a', 'p', { how: 'block' });
    const { result } = await at.heard('a', 'finished');
    expect(result).toMatchObject({ status: 2, retry: false });
    expect(result.reason).toBe('it took longer than its limit of 0.2 s, and was ended');
  });
  it('a task that blocks it is ended with it when it is cancelled', async () => {
    const at = await start(ONE_IN_TWO, {}, 0.3);
    const mark = join(place.dir, 'blocks');
    at.assign('a', 'p', { how: 'block', mark });
    await expect.poll(() => existsSync(mark)).toBe(true);
    at.cancel({ id: 'a', attempt: 1 });
    expect(await at.heard('a', 'cancelled')).toMatchObject({ forced: true });
  });
});

describe('an agent that is killed', () => {
  it('leaves its module tasks running, and the next one hears how they ended', async () => {
    const go = join(place.dir, 'go');
    const source = `
      import { existsSync } from 'node:fs';
      export async function run() {
        while (!existsSync(${JSON.stringify(go)})) await new Promise((resolve) => setTimeout(resolve, 20));
        return { stdout: String(process.pid) };
      }`;
    const at = await start(source);
    at.assign('a', 'p');
    await at.heard('a', 'started');
    at.vanish();
    const [host] = await hosts();
    const pid = (await readFile(join(place.dir, 'tasks', 'hosts', host ?? '', 'pid'), 'utf8')).split(' ')[0];
    const next = await start(source);
    await writeFile(go, '');
    expect(await next.result('a')).toMatchObject({ status: 1, stdout: pid });
  });
});
