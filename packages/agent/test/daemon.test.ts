import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RunningAgent } from '@muster/agent';
import { VERSION } from '@muster/base/version';
import { generateKeyPair, type KeyPair } from '@muster/signing';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { commandGroupsUsable, scratch, startTestAgent } from './support/agent.js';
import { FakeServer } from './support/fake-server.js';

let keys: KeyPair;
let server: FakeServer;
let agent: RunningAgent | null = null;
let place: Awaited<ReturnType<typeof scratch>>;

beforeAll(async () => {
  keys = await generateKeyPair();
});

beforeEach(async () => {
  place = await scratch();
  server = await FakeServer.start();
});

afterEach(async () => {
  await agent?.stop();
  agent = null;
  await server.stop();
  await place.dispose();
});

/** A zombie is gone, whoever has yet to collect it. */
function isAlive(pid: number): boolean {
  const path = `/proc/${pid}/stat`;
  return existsSync(path) && readFileSync(path, 'latin1').split(') ')[1]?.[0] !== 'Z';
}

/** Tells the id of a process with a session of its own, a dead parent and an environment without the marker. */
const ESCAPE = `env -i PATH="$PATH" setsid sh -c '(sleep 300 >/dev/null & echo $!)'`;

async function runJob(jobId: string, command: string): Promise<void> {
  server.send(prepare(jobId, command));
  await server.message('ack', (ack) => ack.jobId === jobId);
  server.send({ type: 'start', jobId });
}

/** A heartbeat never tells what its own message has not told before it. */
function expectHeartbeatsToFollow(): void {
  const told = new Set<string>();
  let busyWith: string | null = null;
  for (const { message } of server.received) {
    if (message.type === 'started') busyWith = message.jobId;
    if (message.type === 'finished') {
      told.add(message.jobId);
      if (message.outcome !== 'timed_out') busyWith = null;
    }
    if (message.type !== 'heartbeat') continue;
    if (message.last !== null) expect(told).toContain(message.last.jobId);
    if (message.state === 'running') expect(message.jobId).toBe(busyWith);
  }
}

const configurationRequests = () => server.requests.filter((line) => line.includes('/pushy/config/')).length;

/** What a server would hold of stdout: bytes by their position, repeats over themselves. */
function output(jobId: string): string {
  const pieces = new Map<number, Uint8Array>();
  for (const { message } of server.received) {
    if (message.type === 'output' && message.jobId === jobId && message.stream === 'stdout')
      pieces.set(message.offset, message.data);
  }
  return Buffer.concat([...pieces].sort(([a], [b]) => a - b).map(([, data]) => data)).toString();
}

const prepare = (jobId: string, command: string, more = {}) =>
  ({ type: 'prepare', jobId, command, capture: true, options: {}, ...more }) as const;

describe('an agent and its server', () => {
  it('begins with a heartbeat, then tells its facts and that it started for the first time', async () => {
    agent = await startTestAgent(server, keys, place.dir, { labels: { env: 'prod' } });
    const { start } = await server.message('ready');
    const { facts, labels } = await server.message('facts');
    expect(server.types()[0]).toBe('heartbeat');
    expect(start).toBe('first');
    expect(facts).toMatchObject({ hostname: expect.any(String), cpus: expect.any(Number), agent_version: VERSION });
    expect(labels).toEqual({ env: 'prod' });
  });

  it('tells the facts of its owner’s program, and others when its file is read again', async () => {
    const program = join(place.dir, 'facts');
    const write = (rack: string) =>
      writeFile(program, `#!/bin/sh\necho '{"rack": "${rack}", "os": "mine"}'\n`, { mode: 0o755 });
    await write('b4');
    agent = await startTestAgent(server, keys, place.dir, { facts: { program } });
    const told = (rack: string) => server.message('facts', ({ facts }) => facts.rack === rack);
    expect((await told('b4')).facts.os).toBe(process.platform);
    await write('c1');
    await agent.reload();
    await told('c1');
  });

  it('tells no facts before those of its owner’s program are known, and works meanwhile', async () => {
    const [program, go] = [join(place.dir, 'facts'), join(place.dir, 'go')];
    await writeFile(program, `#!/bin/sh\nuntil [ -e ${go} ]; do sleep 0.05; done\necho '{"rack": "b4"}'\n`, {
      mode: 0o755,
    });
    agent = await startTestAgent(server, keys, place.dir, { allow_any: true, facts: { program } });
    await server.message('ready');
    await runJob('j1', 'echo x');
    await server.message('finished');
    expect(server.types()).not.toContain('facts');
    await writeFile(go, '');
    expect((await server.message('facts')).facts).toMatchObject({ rack: 'b4', os: process.platform });
  });

  it('tells the facts of its machine when its owner’s program has failed', async () => {
    const program = join(place.dir, 'facts');
    await writeFile(program, '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    agent = await startTestAgent(server, keys, place.dir, { facts: { program } });
    expect((await server.message('facts')).facts.os).toBe(process.platform);
  });

  it('runs a job and tells ack, started, output and finished in this order', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.send(prepare('j1', 'echo out; echo err >&2; exit 3'));
    await server.message('ack');
    server.send({ type: 'start', jobId: 'j1' });
    const finished = await server.message('finished');
    expect(finished).toMatchObject({ jobId: 'j1', outcome: 'failed', exitCode: 3, bytes: { stdout: 4, stderr: 4 } });
    const order = server.types().filter((type) => ['ack', 'started', 'output', 'finished'].includes(type));
    expect(order).toEqual(['ack', 'started', 'output', 'output', 'finished']);
  });

  it('answers abort while idle, and a command it may not run with nack', async () => {
    agent = await startTestAgent(server, keys, place.dir, {});
    await server.message('ready');
    server.send({ type: 'abort' });
    expect(await server.message('aborted')).toMatchObject({ jobId: null, from: 'ready', settled: true });
    server.send(prepare('j1', 'reboot'));
    expect(await server.message('nack')).toMatchObject({ jobId: 'j1', currentJobId: null });
  });

  it('kills the running command on abort and says ready when it is gone', async () => {
    agent = await startTestAgent(server, keys, place.dir, { allow_any: true, grace: 0.2 });
    await server.message('ready');
    server.send(prepare('j1', 'trap "" TERM; echo up; while :; do sleep 1; done'));
    await server.message('ack');
    server.send({ type: 'start', jobId: 'j1' });
    await server.message('output');
    const before = server.received.length;
    server.send({ type: 'abort' });
    expect(await server.message('aborted')).toMatchObject({ jobId: 'j1', from: 'running', settled: false });
    expect(await server.message('ready', () => true, before)).toMatchObject({ start: null });
    expect(server.types()).not.toContain('finished');
  });

  it('an abort reaches also what left its session, its parent and its environment, where there are control groups', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    await runJob('j1', `${ESCAPE}; ${ESCAPE}; ${ESCAPE}; echo up; exec sleep 60`);
    await expect.poll(() => output('j1')).toContain('up');
    const escaped = output('j1').split('\n').map(Number).filter(Boolean);
    const before = server.received.length;
    server.send({ type: 'abort' });
    await server.message('ready', () => true, before);
    const reached = await commandGroupsUsable(place.dir);
    expect(escaped.map(isAlive)).toEqual([!reached, !reached, !reached]);
    for (const pid of escaped.filter(isAlive)) process.kill(pid, 'SIGKILL');
  });
  it('tells a timed out command as such, with its output before', async () => {
    agent = await startTestAgent(server, keys, place.dir, { allow_any: true, grace: 0.2 });
    await server.message('ready');
    server.send(prepare('j1', 'echo begun; sleep 60', { timeoutSeconds: 0.3 }));
    await server.message('ack');
    server.send({ type: 'start', jobId: 'j1' });
    expect(await server.message('finished')).toMatchObject({ jobId: 'j1', outcome: 'timed_out' });
    expect(server.types().indexOf('output')).toBeLessThan(server.types().indexOf('finished'));
    await server.message('ready', ({ start }) => start === null);
  });

  it('reports the result in its heartbeats and repeats finished when start is repeated', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.send(prepare('j1', 'true'));
    await server.message('ack');
    server.send({ type: 'start', jobId: 'j1' });
    await server.message('finished');
    expect(await server.message('heartbeat', ({ last }) => last?.jobId === 'j1')).toMatchObject({ state: 'ready' });
    const before = server.received.length;
    server.send({ type: 'start', jobId: 'j1' });
    expect(await server.message('finished', () => true, before)).toMatchObject({ outcome: 'succeeded' });
  });

  it('many short jobs one after the other: heartbeats never overtake what the jobs say', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    for (let n = 0; n < 15; n += 1) {
      await runJob(`j${n}`, `printf ${n}`);
      await server.message('finished', ({ jobId }) => jobId === `j${n}`);
    }
    expectHeartbeatsToFollow();
  });

  it('goes on running a command while the server is restarted, and takes its place again', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    const go = join(place.dir, 'go');
    await runJob('j1', `echo one; until [ -e ${go} ]; do sleep 0.05; done; echo two`);
    await server.message('output');
    const before = server.received.length;
    await server.restart();
    const beat = await server.message('heartbeat', () => true, before);
    expect(beat).toMatchObject({ state: 'running', jobId: 'j1' });
    await writeFile(go, '');
    expect(await server.message('finished')).toMatchObject({ jobId: 'j1', outcome: 'succeeded' });
    expect(configurationRequests()).toBe(2);
    expect(output('j1')).toBe('one\ntwo\n');
  });

  it('sends nothing while the server is offline, and takes up where it was once it is back', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    const go = join(place.dir, 'go');
    await runJob('j1', `until [ -e ${go} ]; do sleep 0.05; done; echo done`);
    await server.message('started');
    server.stopBeating();
    await expect.poll(() => agent?.online).toBe(false);
    const before = server.received.length;
    server.send({ type: 'start', jobId: 'j1' });
    server.send(prepare('j2', 'true'));
    await writeFile(go, '');
    server.beat();
    await expect.poll(() => server.requests.length).toBeGreaterThan(1);
    expect(server.received.slice(before)).toEqual([]);
    server.startBeating();
    await server.message('finished', ({ jobId }) => jobId === 'j1');
    expect(server.received[before]?.message).toMatchObject({ type: 'heartbeat', state: 'running', jobId: 'j1' });
    expect(output('j1')).toBe('done\n');
    expect(server.types()).not.toContain('nack');
  });

  it('discards a job that has not begun when the server goes offline, and says ready when it is back', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.send(prepare('j1', 'true'));
    await server.message('ack');
    server.stopBeating();
    await expect.poll(() => agent?.online).toBe(false);
    const before = server.received.length;
    server.startBeating();
    expect(await server.message('ready', () => true, before)).toMatchObject({ start: null });
    server.send({ type: 'start', jobId: 'j1' });
    expect(await server.message('error')).toMatchObject({ jobId: 'j1' });
  });

  it('asks for its configuration again when nothing is heard on the command channel', async () => {
    server.welcoming = false;
    agent = await startTestAgent(server, keys, place.dir);
    await expect.poll(configurationRequests).toBeGreaterThanOrEqual(2);
    server.welcoming = true;
    await expect.poll(() => agent?.established).toBe(true);
  });

  it('comes back when its connection breaks and its key is no longer admitted', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await expect.poll(() => agent?.established).toBe(true);
    const before = server.received.length;
    await server.rebind();
    await server.message('heartbeat', () => true, before);
    expect(configurationRequests()).toBe(2);
  });

  it('asks again after an interval at most when the server says reconfigure', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.send({ type: 'reconfigure' });
    await expect.poll(configurationRequests).toBe(2);
  });

  it('reconfiguring does not disturb a running command', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    const go = join(place.dir, 'go');
    await runJob('j1', `until [ -e ${go} ]; do sleep 0.05; done; echo done`);
    await server.message('started');
    const before = server.received.length;
    agent.reconfigure();
    await server.message('facts', () => true, before);
    await writeFile(go, '');
    expect(await server.message('finished')).toMatchObject({ outcome: 'succeeded' });
    expect(output('j1')).toBe('done\n');
  });

  it('output that was not acknowledged is sent again on a new connection', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.storing = false;
    await runJob('j1', 'echo once');
    await server.message('output');
    const before = server.received.length;
    server.storing = true;
    agent.reconfigure();
    expect(await server.message('output', () => true, before)).toMatchObject({ offset: 0 });
    expect(await server.message('finished')).toMatchObject({ bytes: { stdout: 5, stderr: 0 } });
  });

  it('of more output than the limit the middle is dropped, and the totals tell', async () => {
    await server.stop();
    server = await FakeServer.start({ outputLimit: 100_000 });
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    await runJob('j1', 'head -c 300000 /dev/zero; printf end');
    expect(await server.message('finished')).toMatchObject({ bytes: { stdout: 300_003, stderr: 0 } });
    expect(output('j1')).toHaveLength(100_000);
    expect(output('j1').endsWith('end')).toBe(true);
  });

  it('a clean stop fails the running command, and the next start has the same incarnation', async () => {
    agent = await startTestAgent(server, keys, place.dir, { allow_any: true, grace: 0.2 });
    await server.message('ready');
    await runJob('j1', 'echo up; exec sleep 60');
    await server.message('output');
    const { incarnation } = agent;
    await agent.stop();
    expect(await server.message('finished')).toMatchObject({ outcome: 'failed', reason: 'agent stopped' });
    await server.message('stopping');
    expect(server.types().at(-1)).toBe('stopping');
    const before = server.received.length;
    agent = await startTestAgent(server, keys, place.dir);
    expect(agent.incarnation).toBe(incarnation);
    expect(await server.message('ready', () => true, before)).toMatchObject({ start: 'clean' });
    expect(server.types().slice(before)).not.toContain('crashed');
  });

  it('two agents on one data directory: the second is refused', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await expect(startTestAgent(server, keys, place.dir)).rejects.toThrow(/another muster agent/);
  });

  it('a reload changes allow-list and labels without touching a running command', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    const go = join(place.dir, 'go');
    await runJob('j1', `until [ -e ${go} ]; do sleep 0.05; done`);
    await server.message('started');
    const file = join(place.dir, 'agent.json');
    await writeFile(file, JSON.stringify({ commands: { hello: 'echo hello' }, labels: { role: 'web' } }));
    await agent.reload();
    await server.message('facts', ({ labels }) => labels.role === 'web');
    await writeFile(go, '');
    expect(await server.message('finished')).toMatchObject({ outcome: 'succeeded' });
    server.send(prepare('j2', 'true'));
    expect(await server.message('nack')).toMatchObject({ jobId: 'j2' });
  });

  it('a broken file on reload leaves the old one in force', async () => {
    agent = await startTestAgent(server, keys, place.dir, { commands: { hello: 'echo hello' } });
    await server.message('ready');
    await writeFile(join(place.dir, 'agent.json'), '{"commands": 3}');
    await agent.reload();
    server.send(prepare('j1', 'hello'));
    await server.message('ack');
  });

  it('waits for a server that is not there, or refuses it, and comes up by itself', async () => {
    server.refuse = { status: 503, error: 'not yet' };
    agent = await startTestAgent(server, keys, place.dir);
    await expect.poll(configurationRequests).toBe(1);
    server.refuse = null;
    agent.reconfigure();
    await server.message('ready');
  });
});

describe('a crash of the agent', () => {
  it('is told at the next start with the job, after what was left of the command has been killed', async () => {
    const script = fileURLToPath(new URL('./support/agent-process.mjs', import.meta.url));
    server.nodeKey = keys.publicKey;
    await writeFile(join(place.dir, 'key.pem'), keys.privateKey, { mode: 0o600 });
    const child = spawn(process.execPath, [script, server.url, place.dir], { stdio: 'inherit' });
    await server.message('ready');
    await runJob('j1', `${ESCAPE}; echo $$; echo up; exec sleep 60`);
    await expect.poll(() => output('j1')).toContain('up');
    const [escaped = 0, command = 0] = output('j1').split('\n').map(Number);
    const old = server.received[0]?.envelope.incarnation;
    child.kill('SIGKILL');
    await new Promise((resolve) => child.once('exit', resolve));
    expect(isAlive(command)).toBe(true);

    const before = server.received.length;
    agent = await startTestAgent(server, keys, place.dir);
    expect(await server.message('crashed')).toMatchObject({ jobId: 'j1' });
    expect(await server.message('ready', () => true, before)).toMatchObject({ start: 'crash' });
    expect(agent.incarnation).not.toBe(old);
    expect(isAlive(command)).toBe(false);
    expect(isAlive(escaped)).toBe(!(await commandGroupsUsable(place.dir)));
    if (isAlive(escaped)) process.kill(escaped, 'SIGKILL');
  });
});
