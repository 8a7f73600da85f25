import type { RunningAgent } from '@muster/agent';
import { generateKeyPair, type KeyPair } from '@muster/wire';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { scratch, startTestAgent } from './support/agent.js';
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

const prepare = (jobId: string, command: string, more = {}) =>
  ({ type: 'prepare', jobId, command, capture: true, options: {}, ...more }) as const;

describe('an agent and its server', () => {
  it('begins with a heartbeat, then tells its facts and that it started for the first time', async () => {
    agent = await startTestAgent(server, keys, place.dir, { labels: { env: 'prod' } });
    const { start } = await server.message('ready');
    const { facts, labels } = await server.message('facts');
    expect(server.types()[0]).toBe('heartbeat');
    expect(start).toBe('first');
    expect(facts).toMatchObject({ hostname: expect.any(String), cpus: expect.any(Number), agent_version: '0.1.0' });
    expect(labels).toEqual({ env: 'prod' });
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

  it('goes on running a command while the server is restarted, and takes its place again', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.send(prepare('j1', 'echo one; read -t 60 line < FIFO || sleep 1; echo two'));
    await server.message('ack');
    server.send({ type: 'start', jobId: 'j1' });
    await server.message('output');
    const before = server.received.length;
    await server.restart();
    const beat = await server.message('heartbeat', () => true, before);
    expect(beat).toMatchObject({ state: 'running', jobId: 'j1' });
    expect(await server.message('finished')).toMatchObject({ jobId: 'j1', outcome: 'succeeded' });
    expect(server.requests.filter((line) => line.includes('/config/'))).toHaveLength(2);
  });

  it('sends nothing while the server is offline, and ready once it is back', async () => {
    agent = await startTestAgent(server, keys, place.dir);
    await server.message('ready');
    server.stopBeating();
    const running = agent;
    // The agent's own ticks judge; each reaches the server as a heartbeat until it goes offline.
    await server.until(() => (running.online ? null : true)).catch(() => undefined);
  });
});
