import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningAgent } from '@muster/agent';
import { generateKeyPair, type KeyPair } from '@muster/signing';
import type { TaskNews, TaskOrder } from '@muster/wire';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { scratch, startTestAgent } from '../support/agent.js';
import { FakeServer } from '../support/fake-server.js';
import { endHosts, task } from '../support/task-node.js';

let place: Awaited<ReturnType<typeof scratch>>;
let keys: KeyPair;
let server: FakeServer;
let agent: RunningAgent | null;
beforeAll(async () => {
  keys = await generateKeyPair();
});
beforeEach(async () => {
  place = await scratch();
  // An agent that takes a server for offline on a machine that is busy says nothing when it is stopped.
  server = await FakeServer.start({ interval: 1 });
  agent = null;
});
afterEach(async () => {
  await agent?.stop();
  await server.stop();
  await endHosts(join(place.dir, 'data', 'tasks'));
  await place.dispose();
});

const sh = (script: string) => ({ program: '/bin/sh', args: ['-c', script] });
const NOTHING = { type: 'task_orders', assign: [], settled: [], cancel: [], recall: [] } satisfies TaskOrder;

async function start(tasks: Record<string, unknown>): Promise<void> {
  const { length } = server.received;
  agent = await startTestAgent(server, keys, place.dir, { tasks });
  await server.message('task_slots', () => true, length);
}

function news(): TaskNews[] {
  return server.received.flatMap(({ message }) => (message.type === 'task_news' ? message.news : []));
}

async function heard(id: string, event: TaskNews['event']): Promise<TaskNews> {
  return server.until(() => news().find((one) => one.id === id && one.event === event) ?? null);
}

describe('an agent with plugins', () => {
  it('says what it offers, runs what it is assigned, and tells how it ended', async () => {
    await start({ max: 3, ignorequeues: ['slow'], plugins: { p: sh('exit 3') } });
    expect(await server.message('task_slots')).toEqual({
      type: 'task_slots',
      max: 3,
      plugins: [{ name: 'p', contract: 'simple', concurrency: null }],
      activequeues: [],
      ignorequeues: ['slow'],
    });
    server.send({ ...NOTHING, assign: [task('a', 'p')] });
    expect(await heard('a', 'finished')).toMatchObject({ result: { status: 2, exitCode: 3 } });
    server.send({ ...NOTHING, settled: [{ id: 'a', attempt: 1 }] });
    const { length } = server.received;
    server.send({ type: 'task_census' });
    const { held } = await server.message('task_inventory', () => true, length);
    expect(held).toEqual([]);
  });
  it('streams output while its task runs', async () => {
    await start({ plugins: { p: sh('echo first; sleep 60') } });
    server.send({ ...NOTHING, assign: [task('a', 'p')] });
    const { data, ...piece } = await server.message('task_output');
    expect({ ...piece, text: Buffer.from(data).toString() }).toEqual({
      type: 'task_output',
      id: 'a',
      attempt: 1,
      stream: 'stdout',
      offset: 0,
      text: 'first\n',
    });
    server.send({ ...NOTHING, cancel: [{ id: 'a', attempt: 1 }] });
    expect(await heard('a', 'cancelled')).toMatchObject({ bytes: { stdout: 6, stderr: 0 } });
  });
  it('that is stopped gives back what waits, before it says so, and the next one goes on with what runs', async () => {
    const go = join(place.dir, 'go');
    const tasks = { max: 1, plugins: { p: sh(`while [ ! -e ${go} ]; do sleep 0.05; done; echo done`) } };
    await start(tasks);
    server.send({ ...NOTHING, assign: [task('a', 'p'), task('b', 'p')] });
    await heard('a', 'started');
    await agent?.stop();
    await server.message('stopping');
    const types = server.types();
    expect(await heard('b', 'returned')).toMatchObject({ reason: 'the agent of the node was stopped' });
    expect(types.lastIndexOf('task_news')).toBeLessThan(types.indexOf('stopping'));

    const { length } = server.received;
    await start(tasks);
    const { held } = await server.message('task_inventory', () => true, length);
    expect(held).toEqual([{ id: 'a', attempt: 1, state: 'running' }]);
    await writeFile(go, '');
    expect(await heard('a', 'finished')).toMatchObject({ result: { status: 1 } });
  });
  it('begins nothing while the server is away, and what the server then does not want any more never', async () => {
    const [go, ended, begun] = ['go', 'ended', 'begun'].map((name) => join(place.dir, name));
    const p = sh(`until [ -e ${go} ]; do sleep 0.05; done; touch ${ended}`);
    await start({ max: 1, plugins: { p, q: sh(`touch ${begun}`) } });
    server.send({ ...NOTHING, assign: [task('a', 'p'), task('b', 'q')] });
    await heard('a', 'started');
    server.stopBeating();
    await expect.poll(() => agent?.online).toBe(false);
    const { length } = server.received;
    await writeFile(go ?? '', '');
    await expect.poll(() => existsSync(ended ?? '')).toBe(true);
    server.startBeating();
    const { held } = await server.message('task_inventory', () => true, length);
    expect(server.received[length]?.message.type).toBe('heartbeat');
    expect(held).toEqual([
      { id: 'a', attempt: 1, state: 'ended' },
      { id: 'b', attempt: 1, state: 'waiting' },
    ]);
    server.send({ ...NOTHING, settled: [{ id: 'a', attempt: 1 }], cancel: [{ id: 'b', attempt: 1 }] });
    await heard('b', 'cancelled');
    expect(existsSync(begun ?? '')).toBe(false);
  });
  it('that is stopped while a task runs is another one afterwards: the server sends it nothing a second time', async () => {
    await start({ plugins: { p: sh('sleep 60') } });
    const first = agent?.incarnation;
    await agent?.stop();
    await start({ plugins: { p: sh('sleep 60') } });
    expect(agent?.incarnation).toBe(first);
    server.send({ ...NOTHING, assign: [task('a', 'p')] });
    await heard('a', 'started');
    await agent?.stop();
    const { length } = server.received;
    await start({ plugins: { p: sh('sleep 60') } });
    expect(agent?.incarnation).not.toBe(first);
    // Nobody takes that for a crash.
    expect(await server.message('ready', () => true, length)).toMatchObject({ start: 'clean' });
  });
  it('that is killed again and again while its tasks run: each runs once, and all ends are told', async () => {
    server.nodeKey = keys.publicKey;
    await writeFile(join(place.dir, 'key.pem'), keys.privateKey, { mode: 0o600 });
    const lines = join(place.dir, 'lines');
    const append = { program: '/bin/sh', args: ['-c', `sleep 0.02; echo $MUSTER_TASK_ID >> ${lines}`] };
    const assigned = Array.from({ length: 60 }, (_, n) => task(`t${n}`, 'append'));
    const ended = () => new Set(news().flatMap(({ id, event }) => (event === 'finished' ? [id] : [])));
    let waits = 0;
    while (ended().size < assigned.length) {
      const child = await spawnAgent({ max: 4, plugins: { append } });
      // As the server does: what it does not know the end of is assigned again.
      server.send({ ...NOTHING, assign: assigned.filter(({ id }) => !ended().has(id)) });
      waits += 10;
      const enough = ended().size + waits;
      await server.until(() => (ended().size >= Math.min(enough, assigned.length) ? true : null));
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    const ran = (await readFile(lines, 'utf8')).trim().split('\n');
    expect(ran.toSorted()).toEqual(assigned.map(({ id }) => id).toSorted());
    expect(news().every(({ event }) => event === 'started' || event === 'finished')).toBe(true);
  });
});

/** An agent in a process of its own, which has told what it has. */
async function spawnAgent(tasks: Record<string, unknown>): Promise<ChildProcess> {
  const script = fileURLToPath(new URL('../support/agent-process.mjs', import.meta.url));
  const { length } = server.received;
  const args = [script, server.url, place.dir, JSON.stringify(tasks)];
  const child = spawn(process.execPath, args, { stdio: 'inherit' });
  await server.message('task_inventory', () => true, length);
  return child;
}
