import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Cluster } from './support/cluster.js';
import { LedgerJobs } from './support/ledger-jobs.js';
import { LedgerLoad } from './support/ledger-load.js';
import { type Balancer, type MemberProcess, type Members, said, threeServers } from './support/members.js';
import { isFinished } from './support/pushy-server.js';
import { type Random, randomOfThisRun } from './support/random.js';
import type { StartedProcess } from './support/started-process.js';
import { TaskLines } from './support/task-lines.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * Three servers over one PostgreSQL, of which those that lead are killed, frozen for longer than their lease, stopped and drained at random moments, or cut
 * off from the database, while push jobs and jobs are started, tasks are added and run, and somebody follows events. For the long run: MUSTER_TEST_FAULT_ROUNDS=50
 * and MUSTER_TEST_FAULT_AGENTS=100; MUSTER_TEST_SEED=random for other moments.
 */
const ROUNDS = Number(process.env.MUSTER_TEST_FAULT_ROUNDS ?? 6);
const TASKS_A_ROUND = 60;
const JOBS_A_ROUND = 2;
const NODES = Array.from({ length: Number(process.env.MUSTER_TEST_FAULT_AGENTS ?? 3) }, (_, n) => `n${n + 1}`);
/** Seconds: a hundred agents that are asked twice a second keep two processors busy with nothing else. */
const HEARTBEAT_INTERVAL = NODES.length > 10 ? 5 : 0.5;
/** So many agents start at one time. */
const AT_ONCE = 10;
/** Longest that a leader is left alone, and for how long one stays frozen that another has taken over from. */
const CALM_MS = 3000;
const LATE_MS = 4000;
const ROUND_MS = NODES.length > 10 ? 180_000 : 60_000;
/** For servers and as many agents as wanted to start. */
const BEFORE_MS = 240_000 + NODES.length * 5000;

let cluster: Cluster;
let members: Members;
let balancer: Balancer;
let lines: TaskLines;
let jobs: LedgerJobs;
let watching: StartedProcess;

beforeAll(async () => {
  ({ cluster, members, balancer } = await threeServers(HEARTBEAT_INTERVAL));
  lines = new TaskLines(cluster.dir);
  jobs = await LedgerJobs.prepare(cluster);
  const written = join(cluster.dir, 'pushed.txt');
  const commands = { append: { shell: `echo "$CHEF_PUSH_JOB_ID $CHEF_PUSH_NODE_NAME" >> ${written}; sleep 1` } };
  for (let first = 0; first < NODES.length; first += AT_ONCE) {
    const some = NODES.slice(first, first + AT_ONCE);
    const configOf = (name: string) => ({ commands, tasks: { max: 4, plugins: lines.plugins(name) } });
    await cluster.startAgents(Object.fromEntries(some.map((name) => [name, configOf(name)])));
  }
  for (const plugin of ['program', 'module']) {
    const made = await cluster.api.post('queues', { name: plugin, plugin, orphan_retries: 1000 });
    expect(made.status, made.text).toBe(201);
  }
  const watch = ['event', 'watch', "type = 'task.ended'", '--durable', 'ledger', '--json'];
  watching = cluster.launch('a watch of ends', watch);
  await until('the watch', () => watching.stderr.includes('watching'));
}, BEFORE_MS);
neverHarmed(() => members);
afterAll(async () => {
  balancer.close();
  await members.close();
});

/** Of each end that was told, by the position of its event, of which task. What was told and not acknowledged is told again. */
function endsTold(): ReadonlyMap<string, string> {
  const ends = watching.stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as EndTold);
  return new Map(ends.map(({ position, attributes }) => [position, attributes.task]));
}

interface EndTold {
  readonly position: string;
  readonly attributes: { readonly task: string };
}

/** However often there is nobody to take it: their keys tell which of them there are already. */
async function addTasks(queue: string, round: number, random: Random): Promise<void> {
  const tasks = Array.from({ length: TASKS_A_ROUND }, (_, n) => ({
    params: { seconds: random.below(10) / 100 },
    unique: { key: `${queue} ${round} ${n}`, seconds: 86_400 },
  }));
  await until(
    'tasks to be added',
    async () => (await cluster.api.post(`queues/${queue}/tasks`, tasks)).status === 201,
    ROUND_MS,
  );
}

/** null: nobody could say whether it was started. */
async function startPush(): Promise<string | null> {
  const body = { command: 'append', nodes: NODES, quorum: 1 };
  const answer = await cluster.api.post('pushy/jobs', body).catch(() => null);
  return answer?.status === 201 ? (answer.json as { id: string }).id : null;
}

async function back(member: MemberProcess): Promise<void> {
  await member.process.exited;
  members.again(member.name);
  const answers = async (): Promise<boolean> => {
    // A database that is too busy to be asked refuses it: whoever supervises it starts it again.
    if (member.process.exit !== null) members.again(member.name);
    return (await said(member.url)) !== null;
  };
  await until(`${member.name} to answer`, answers, ROUND_MS);
}

const FAULTS: Readonly<Record<string, (leader: MemberProcess) => Promise<void>>> = {
  async killed(leader) {
    await leader.process.kill('SIGKILL');
    await back(leader);
  },
  async frozen(leader) {
    leader.process.signal('SIGSTOP');
    await members.leader(leader.name);
    await moment(LATE_MS);
    leader.process.signal('SIGCONT');
    await back(leader);
  },
  async 'cut off from the database'(leader) {
    leader.network.cut();
    await members.leader(leader.name);
    await leader.process.exited;
    leader.network.heal();
    await back(leader);
  },
  async stopped(leader) {
    await leader.process.kill('SIGTERM');
    await back(leader);
  },
  async drained(leader) {
    const drain = (path: string) => cluster.api.call('POST', `/cluster/servers/${leader.name}/${path}`);
    // Its answer may be lost with the server that gives it.
    await until('it to be drained', async () => (await drain('drain')).status === 200, ROUND_MS);
    await members.leader(leader.name);
    await until('it to be undrained', async () => (await drain('undrain')).status === 200, ROUND_MS);
  },
  async 'a follower killed'(leader) {
    const follower = members.all.find(({ name }) => name !== leader.name) as MemberProcess;
    await follower.process.kill('SIGKILL');
    await back(follower);
  },
};

test(
  `leaders are killed, frozen, cut off, stopped and drained ${ROUNDS} times: every task and job ends and is told of, no attempt, command and program runs twice, nobody gets a 500`,
  async () => {
    const random = randomOfThisRun('a cluster under faults');
    const pushed: string[] = [];
    const adding: Promise<void>[] = [];
    const recoveries: number[] = [];
    const load = await LedgerLoad.begin(cluster, jobs, random);
    const names = Object.keys(FAULTS);
    for (let round = 0; round < ROUNDS; round++) {
      for (const queue of ['program', 'module']) adding.push(addTasks(queue, round, random));
      load.grow((round + 1) * JOBS_A_ROUND);
      const id = await startPush();
      if (id !== null) pushed.push(id);
      await moment(random.below(CALM_MS));
      const leader = await members.leader();
      const begun = Date.now();
      // Each of them, and then by chance.
      await FAULTS[names[round < names.length ? round : random.below(names.length)] ?? '']?.(leader);
      await members.leader();
      recoveries.push(Date.now() - begun);
      // On a machine that is too busy one may lose its lease without our doing.
      await members.supervise();
    }
    await Promise.all(adding);
    await cluster.available(...NODES);

    const ended = await Promise.all(
      pushed.map((id) =>
        until(`push job ${id} to end`, async () => {
          const job = await cluster.job(id);
          return isFinished(job) && job;
        }),
      ),
    );
    const written = readFileSync(join(cluster.dir, 'pushed.txt'), 'utf8').trimEnd().split('\n');
    expect(new Set(written).size, 'a command ran twice on one node').toBe(written.length);
    for (const job of ended) {
      for (const node of job.nodes.succeeded ?? []) expect(written).toContain(`${job.id} ${node}`);
    }

    for (const queue of ['program', 'module']) {
      const counts = async () =>
        ((await cluster.api.get(`queues/${queue}`)).json as { counts: Record<string, number> }).counts;
      await until(
        `all tasks of ${queue} to succeed`,
        async () => (await counts()).succeeded === ROUNDS * TASKS_A_ROUND,
        ROUNDS * ROUND_MS,
      );
    }
    const attempts = lines.read();
    expect(new Set(attempts).size, 'an attempt ran twice').toBe(attempts.length);
    expect(new Set(attempts.map((line) => line.split(' ')[0])).size).toBe(2 * ROUNDS * TASKS_A_ROUND);
    await until('each end to be told', () => endsTold().size >= 2 * ROUNDS * TASKS_A_ROUND);
    const told = [...endsTold().values()];
    expect(new Set(told).size, 'an end was told twice').toBe(told.length);
    await watching.kill('SIGINT');
    await load.ended(ROUNDS * ROUND_MS);
    const seen = { push_jobs: ended.length, attempts: attempts.length, ...(await load.expectAll()) };
    process.stdout.write(`${JSON.stringify({ rounds: ROUNDS, ...seen, recoveries_ms: recoveries })}\n`);
  },
  ROUNDS * 2 * ROUND_MS + 120_000,
);
