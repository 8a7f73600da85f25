import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { type Frame, header } from '@muster/fabric';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventClient } from '../packages/platform/test/support/event-client.js';
import { Cluster } from './support/cluster.js';
import { type Random, randomOfThisRun } from './support/random.js';
import { TaskLines } from './support/task-lines.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * The server, agents, and agents with all that they run are killed with -9 at random moments while tasks are added and run.
 * For the long run: MUSTER_TEST_FAULT_TASKS=20000 MUSTER_TEST_FAULT_ROUNDS=30; MUSTER_TEST_SEED=random for other moments.
 */
const TASKS = Number(process.env.MUSTER_TEST_FAULT_TASKS ?? 1000);
const ROUNDS = Number(process.env.MUSTER_TEST_FAULT_ROUNDS ?? 4);
const NODES = ['a', 'b', 'c'];
/** Those of `retried` are queued again when their node is lost, those of `once` are not. */
const QUEUES = {
  retried: { plugin: 'program', orphan_retries: 1000 },
  once: { plugin: 'program', orphan_retries: 0 },
  warm: { plugin: 'module', orphan_retries: 1000 },
} as const;
const NAMES = Object.keys(QUEUES) as (keyof typeof QUEUES)[];
const ENDED = ['succeeded', 'orphaned'];
/** Longest that what was killed lives, and then is gone. */
const LIFE_MS = 1500;
const GONE_MS = 2500;
/** A round, with the start of what was killed, on a machine that is busy. */
const ROUND_MS = LIFE_MS + GONE_MS + 10_000;
/** T5: orphans are found within this time of the node being judged down, or back. */
const ORPHANED_WITHIN_MS = 5000;
/** For those that run one after the other at the end; a busy machine does fewer than one in this time. */
const TASK_MS = 60;
const ADDED_AT_ONCE = 500;
const LEAVE_MS = 60_000;

interface Task {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly reason: string | null;
}

let cluster: Cluster;
let lines: TaskLines;
/** When the server could be heard again, in milliseconds. */
const serverUp: number[] = [];
/** How long its starts took. */
const startsMs: number[] = [];

beforeAll(async () => {
  cluster = await Cluster.start();
  lines = new TaskLines(cluster.dir);
  await cluster.startAgents(
    Object.fromEntries(NODES.map((name) => [name, { tasks: { max: 4, plugins: lines.plugins(name) } }])),
  );
  for (const name of NAMES) {
    const made = await cluster.api.post('queues', { name, ...QUEUES[name] });
    expect(made.status, made.text).toBe(201);
  }
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

/** Adds them, however often the server is killed meanwhile: their keys tell which of them there are already. */
async function addTasks(queue: string, from: number, count: number, random: Random): Promise<void> {
  const tasks = Array.from({ length: count }, (_, n) => ({
    params: { seconds: random.below(10) / 100 },
    unique: { key: `${queue} ${from + n}`, seconds: 86_400 },
  }));
  for (let at = 0; at < tasks.length; at += ADDED_AT_ONCE) {
    const add = async (): Promise<true> => {
      const added = await cluster.api.post(`queues/${queue}/tasks`, tasks.slice(at, at + ADDED_AT_ONCE));
      if (added.status !== 201) throw new Error(`${added.status} ${added.text}`);
      return true;
    };
    await until(`tasks of ${queue} to be added`, add, ROUNDS * ROUND_MS);
  }
}

async function killServer(random: Random): Promise<void> {
  await cluster.killServer('SIGKILL');
  await moment(random.below(GONE_MS));
  const begun = Date.now();
  await cluster.restartServer();
  serverUp.push(Date.now());
  startsMs.push(Date.now() - begun);
}

async function killAgent(name: string, random: Random): Promise<void> {
  await cluster.agent(name).kill('SIGKILL');
  await moment(random.below(GONE_MS));
  cluster.launchAgent(name);
}

/** As when the power fails: also what runs its tasks, and those themselves. */
async function killNode(name: string, random: Random): Promise<void> {
  await cluster.agent(name).kill('SIGKILL');
  for (const pid of hostsOf(name)) process.kill(pid, 'SIGKILL');
  await moment(random.below(GONE_MS));
  cluster.launchAgent(name);
}

/** Processes that run the tasks of a node. */
function hostsOf(name: string): number[] {
  const hosts = join(cluster.agentDir(name), 'tasks', 'hosts');
  const running = new Set(cluster.commands());
  return readdirSync(hosts).flatMap((host) => {
    try {
      // The first line; it may end, or not have begun, just now.
      const pid = Number.parseInt(readFileSync(join(hosts, host, 'pid'), 'utf8'), 10);
      return running.has(pid) ? [pid] : [];
    } catch {
      return [];
    }
  });
}

async function allTasks(queue: string): Promise<readonly Task[]> {
  const found: Task[] = [];
  for (let after = ''; ; ) {
    const reply = await cluster.api.get(
      `queues/${queue}/tasks?limit=1000${after === '' ? '' : `&after=${encodeURIComponent(after)}`}`,
      { version: '1.3', signQuery: true },
    );
    expect(reply.status, reply.text).toBe(200);
    const { tasks, next } = reply.json as { tasks: readonly Task[]; next: string | null };
    found.push(...tasks);
    if (next === null) return found;
    after = next;
  }
}

async function countsOf(queue: string): Promise<Readonly<Record<string, number>>> {
  return ((await cluster.api.get(`queues/${queue}`)).json as { counts: Record<string, number> }).counts;
}

/** A host stays that has what its agent has not seen settled: then the next agent sees it. */
async function leavesNothing(): Promise<boolean> {
  await Promise.all(NODES.map((name) => cluster.agent(name).kill('SIGTERM')));
  if (cluster.commands().length === 0) return true;
  for (const name of NODES) cluster.launchAgent(name);
  await cluster.available(...NODES);
  return false;
}

interface Told {
  readonly type: string;
  readonly at: number;
  readonly node: string;
  readonly reason: string;
}

/** All that was told of nodes, and of tasks that lost theirs. */
async function toldOfNodes(): Promise<readonly Told[]> {
  const { token } = await cluster.json<{ token: string }>('access-token', 'create');
  const client = await EventClient.login(`stomp://127.0.0.1:${cluster.ports[3]}`, 'default/admin', token);
  const types = ['node.down', 'node.up', 'node.restarted', 'task.ended', 'task.waiting', 'marker'];
  await client.subscribe(`type IN (${types.map((type) => `'${type}'`).join(', ')})`, [['from', 'first']]);
  await client.publish('marker');
  const told: Told[] = [];
  for (;;) {
    const event = await client.event();
    if (header(event, 'type') === 'marker') break;
    told.push(toldBy(event));
  }
  await client.close();
  return told;
}

function toldBy(event: Frame): Told {
  const data = JSON.parse(event.body.toString()) as { node?: string | null; reason?: string | null };
  const reason = data.reason ?? '';
  return {
    type: header(event, 'type') ?? '',
    at: Date.parse(header(event, 'time') ?? ''),
    node: header(event, 'node') ?? data.node ?? /^\S+/.exec(reason)?.[0] ?? '',
    reason,
  };
}

/** How long after the judgement on its node each lost task was known to be, in milliseconds. */
function delaysOf(told: readonly Told[]): number[] {
  return told
    .filter(({ type, reason }) => type.startsWith('task.') && / is down: | does not have it any more$/.test(reason))
    .map((lost) => {
      const judged = told.filter(
        ({ type, node, at }) => type.startsWith('node.') && node === lost.node && at <= lost.at,
      );
      return lost.at - Math.max(...judged.map(({ at }) => at), ...serverUp.filter((at) => at <= lost.at));
    });
}

test(
  `${TASKS} tasks, killed with -9 at ${ROUNDS} random moments: each ends, no attempt runs twice, orphans are found at once, counts are right`,
  async () => {
    const random = randomOfThisRun('tasks under kills');
    const killed = { server: 0, agent: 0, node: 0 };
    const share = Math.ceil(TASKS / NAMES.length / ROUNDS);
    const adding: Promise<void>[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      for (const queue of NAMES) adding.push(addTasks(queue, round * share, share, random));
      // One that fails is heard of below.
      for (const added of adding) added.catch(() => undefined);
      await moment(random.below(LIFE_MS));
      const node = NODES[random.below(NODES.length)] ?? '';
      const what = random.fraction();
      if (what < 0.4) {
        killed.server += 1;
        await killServer(random);
      } else if (what < 0.7) {
        killed.agent += 1;
        await killAgent(node, random);
      } else {
        killed.node += 1;
        await killNode(node, random);
      }
    }
    await Promise.all(adding);

    const added = share * ROUNDS;
    for (const queue of NAMES) {
      await until(
        `all tasks of ${queue} to end`,
        async () => {
          const { succeeded = 0, orphaned = 0, ...others } = await countsOf(queue);
          if (succeeded + orphaned === added) return true;
          throw new Error(JSON.stringify({ succeeded, orphaned, ...others }));
        },
        30_000 + added * NAMES.length * TASK_MS,
      );
    }

    const times = new Map<string, number>();
    for (const line of lines.read()) times.set(line, (times.get(line) ?? 0) + 1);
    expect([...times].filter(([, count]) => count > 1)).toEqual([]);
    const orphans: Task[] = [];
    for (const queue of NAMES) {
      // Counts are of now; rows follow with their commit.
      let tasks: readonly Task[] = [];
      await until(`all rows of ${queue} to say so`, async () => {
        tasks = await allTasks(queue);
        return tasks.every(({ status }) => ENDED.includes(status));
      });
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(added);
      const unwritten = tasks.filter(
        ({ id, status, attempt }) => status === 'succeeded' && !times.has(`${id} ${attempt}`),
      );
      expect(unwritten).toEqual([]);
      const counts = await countsOf(queue);
      for (const status of ENDED) expect(counts[status]).toBe(tasks.filter((task) => task.status === status).length);
      const its = tasks.filter(({ status }) => status === 'orphaned');
      if (queue !== 'once') expect(its).toEqual([]);
      orphans.push(...its);
    }
    expect(orphans.filter(({ reason }) => !/ is down: | does not have it any more$/.test(reason ?? ''))).toEqual([]);
    const delays = delaysOf(await toldOfNodes());
    expect(delays.length).toBeGreaterThanOrEqual(orphans.length);
    expect(delays.filter((ms) => !(ms <= ORPHANED_WITHIN_MS))).toEqual([]);

    await until('agents that are stopped in order to leave nothing behind', leavesNothing, LEAVE_MS);
    console.log(
      JSON.stringify({
        killed,
        added: added * NAMES.length,
        lines: times.size,
        orphans: orphans.length,
        latest_ms: Math.max(0, ...delays),
        longest_start_ms: Math.max(0, ...startsMs),
      }),
    );
  },
  ROUNDS * ROUND_MS + 60_000 + TASKS * TASK_MS * 2,
);
