import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { endsOfLogs } from './support/logs.js';
import { isFinished, settleServers } from './support/pushy-server.js';
import { until } from './support/until.js';

/** Processes that are killed with -9 at the worst moments (decisions N7, N10, N11). */
const NAMES = ['a', 'b', 'c'];

let cluster: Cluster;
let held: HeldCommand;
let stubborn: HeldCommand;

beforeAll(async () => {
  cluster = await Cluster.start();
  held = new HeldCommand(cluster.dir, 'held');
  stubborn = new HeldCommand(cluster.dir, 'stubborn', { stubborn: true });
  const commands = { held: held.entry, stubborn: stubborn.entry, quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands, grace: 1 }])));
});
beforeEach(async () => {
  held.reset();
  stubborn.reset();
  await cluster.available(...NAMES);
});
afterAll(() => cluster.stop());

async function restarted(): Promise<void> {
  await cluster.killServer('SIGKILL');
  await cluster.restartServer();
}

async function running(command = 'held', nodes = NAMES): Promise<string> {
  const id = await cluster.startJob({ command, nodes });
  await until('every node to run', async () => (await cluster.job(id)).nodes.running?.length === nodes.length);
  // An agent says that it runs a command, and starts it.
  const started = command === 'stubborn' ? stubborn : held;
  await until('the commands to run', () => started.runs.length === nodes.length);
  return id;
}

const sorted = (names: readonly string[] | undefined): string[] => [...(names ?? [])].sort();

describe('the server is killed with -9 and started again', () => {
  test('right after POST was answered: the job is known and goes on', async () => {
    const id = await cluster.startJob({ command: 'quick', nodes: NAMES });
    await restarted();
    const job = await cluster.jobIs(id, 'complete');
    expect(sorted(job.nodes.succeeded)).toEqual(NAMES);
  });

  test('while voting: the votes are taken and the job runs once on every node', async () => {
    // One agent stands still, so that voting cannot end before the server is killed.
    cluster.agent('c').signal('SIGSTOP');
    let id: string;
    try {
      id = await cluster.startJob({ command: 'held', nodes: NAMES });
      await cluster.killServer('SIGKILL');
    } finally {
      cluster.agent('c').signal('SIGCONT');
    }
    await cluster.restartServer();
    await until('the commands to run', () => held.runs.length === NAMES.length);
    held.release();
    const job = await cluster.jobIs(id, 'complete');
    expect(sorted(job.nodes.succeeded)).toEqual(NAMES);
    expect(held.runs).toEqual(NAMES);
  });

  test('while running: nodes that come back keep their place (N10)', async () => {
    const id = await running();
    await restarted();
    await cluster.nodeIs(id, 'a', 'running');
    held.release();
    const job = await cluster.jobIs(id, 'complete');
    expect(sorted(job.nodes.succeeded)).toEqual(NAMES);
    expect(held.runs).toEqual(NAMES);
  });

  test('commands that end while it is away are not lost', async () => {
    const id = await running();
    await cluster.killServer('SIGKILL');
    held.release();
    await cluster.restartServer();
    const job = await cluster.jobIs(id, 'complete');
    expect(sorted(job.nodes.succeeded)).toEqual(NAMES);
    expect(held.runs).toEqual(NAMES);
  });

  test('while running: the run timeout still ends the job', async () => {
    const id = await cluster.startJob({ command: 'held', nodes: ['a'], run_timeout: 2 });
    await cluster.nodeIs(id, 'a', 'running');
    await restarted();
    expect((await cluster.jobIs(id, 'timed_out')).nodes).toEqual({ timed_out: ['a'] });
  });

  test('while aborting: the job ends aborted, and the commands are gone', async () => {
    const id = await running('stubborn');
    expect((await cluster.api.put(`pushy/jobs/${id}/abort`)).status).toBe(200);
    await restarted();
    const job = await cluster.jobIs(id, 'aborted');
    expect(sorted(job.nodes.aborted)).toEqual(NAMES);
    await cluster.available(...NAMES);
    expect(cluster.commands()).toEqual([]);
  });

  test('an agent that died meanwhile is crashed, the others succeed', async () => {
    const id = await running();
    await cluster.killServer('SIGKILL');
    await cluster.agent('b').kill('SIGKILL');
    held.release();
    await cluster.restartServer();
    const job = await cluster.jobIs(id, 'complete');
    expect({ crashed: job.nodes.crashed, succeeded: sorted(job.nodes.succeeded) }).toEqual({
      crashed: ['b'],
      succeeded: ['a', 'c'],
    });
    cluster.launchAgent('b');
  });

  test('a job that was finished stays as it was', async () => {
    const id = await cluster.startJob({ command: 'quick', nodes: ['a'] });
    const before = await cluster.jobIs(id, 'complete');
    await restarted();
    expect(await cluster.job(id)).toEqual(before);
  });

  test('stopped with TERM it exits 0, and jobs go on just the same', async () => {
    const id = await running('held', ['a']);
    expect((await cluster.killServer('SIGTERM')).code).toBe(0);
    await cluster.restartServer();
    held.release();
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['a'] });
  });
});

describe('an agent', () => {
  test('killed with -9 while running: its node is crashed, what it left behind is killed when it returns', async () => {
    const id = await running('held', ['a', 'b']);
    await cluster.agent('a').kill('SIGKILL');
    await cluster.nodeIs(id, 'a', 'crashed');
    expect(held.running).toBe(2);
    held.release();
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ crashed: ['a'], succeeded: ['b'] });
    cluster.launchAgent('a');
    await cluster.agent('a').logged(/what is left of it is killed before the agent goes on/);
    await cluster.agent('a').logged(/nothing of this job runs any more/);
    await cluster.available('a');
    expect(await lastEnd('a')).toBe('crash');
  });

  test('killed and back before it was missed: its node is crashed all the same (N11)', async () => {
    const id = await running('held', ['a']);
    await cluster.agent('a').kill('SIGKILL');
    cluster.launchAgent('a');
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ crashed: ['a'] });
    await cluster.available('a');
    expect(cluster.commands()).toEqual([]);
  });

  test('stopped with TERM while running: it kills the command, exits 0 and comes back as the same incarnation', async () => {
    const id = await running('held', ['a']);
    const before = await node('a');
    expect((await cluster.agent('a').kill('SIGTERM')).code).toBe(0);
    expect(cluster.commands()).toEqual([]);
    cluster.launchAgent('a');
    const job = await cluster.jobIs(id, 'complete');
    expect(Object.keys(job.nodes)).toHaveLength(1);
    expect(job.nodes.succeeded).toBeUndefined();
    await cluster.available('a');
    expect((await node('a')).incarnation).toBe(before.incarnation);
  });

  test('stopped cleanly while idle and started again takes the next job', async () => {
    expect((await cluster.agent('c').kill('SIGTERM')).code).toBe(0);
    cluster.launchAgent('c');
    // Until it is heard of again the server knows only that it was there a moment ago.
    await until('the server to know of the restart', async () => (await lastEnd('c')) === 'clean');
    await cluster.available('c');
    const id = await cluster.startJob({ command: 'quick', nodes: ['c'] });
    expect((await cluster.jobIs(id, 'complete')).nodes).toEqual({ succeeded: ['c'] });
  });
});

test('what a test that failed has left behind is settled before the next', async () => {
  const begun = new Date();
  const id = await running();
  cluster.agent('b').signal('SIGSTOP');
  await cluster.agent('c').kill('SIGKILL');
  await cluster.killServer('SIGKILL');
  expect(await settleServers(begun)).toEqual([]);
  expect(isFinished(await cluster.job(id))).toBe(true);
  await cluster.available(...NAMES);
  expect(cluster.commands()).toEqual([]);
  expect(endsOfLogs()).toMatch(/--- the server, .*"msg":.*\(ended: SIGKILL\).*--- agent c, /s);
});

interface NodeDetail {
  readonly incarnation: string | null;
  readonly last_end: string | null;
}

async function node(name: string): Promise<NodeDetail> {
  return (await cluster.api.get(`nodes/${name}`)).json as NodeDetail;
}

async function lastEnd(name: string): Promise<string | null> {
  return (await node(name)).last_end;
}
