import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as moment } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ScratchNode } from '../packages/broker/test/scratch-node.js';
import type { Cluster } from './support/cluster.js';
import { JobHosts } from './support/job-hosts.js';
import type { JobProcesses } from './support/job-processes.js';
import { JobsApart } from './support/jobs-apart.js';
import { APP, INPUT, LedgerJobs } from './support/ledger-jobs.js';
import { LedgerLoad } from './support/ledger-load.js';
import type { PrivatePostgres } from './support/private-postgres.js';
import { type Random, randomOfThisRun } from './support/random.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * A server without workers, two workers and three readers on a PostgreSQL and a RabbitMQ of their own, all of which are killed at
 * random moments while jobs run: here, on a host by SSH and on Slurm by SSH, which are cut off, too. For the long run: MUSTER_TEST_FAULT_JOBS=300 MUSTER_TEST_FAULT_KILLS=30; MUSTER_TEST_SEED=random for
 * other moments.
 */
const JOBS = Number(process.env.MUSTER_TEST_FAULT_JOBS ?? 20);
const KILLS = Number(process.env.MUSTER_TEST_FAULT_KILLS ?? 6);
const WORKERS = ['w1', 'w2'];
const READERS = ['recovery', 'alternate', 'dead-letter'];
const KINDS = ['worker', 'reader', 'server', 'broker', 'database', 'host'] as const;
type Kind = (typeof KINDS)[number];
/** Longest between two kills, and longest that what was killed is gone. */
const LIFE_MS = 2000;
const GONE_MS = 2000;
/** A round, with the start of what was killed, on a machine that is busy. */
const ROUND_MS = 30_000;
/** The lease of a worker that was killed ends within 6 s; then its jobs go on. */
const JOB_MS = 1000;

let apart: JobsApart;
let postgres: PrivatePostgres;
let rabbitmq: ScratchNode;
let hosts: JobHosts;
let cluster: Cluster;
let processes: JobProcesses;
let jobs: LedgerJobs;

beforeAll(async () => {
  [apart, hosts] = await Promise.all([JobsApart.start(), JobHosts.start()]);
  ({ postgres, rabbitmq, cluster, processes } = apart);
  jobs = await LedgerJobs.prepare(cluster, hosts);
  await processes.start('w1', ...worker('w1'));
  // RabbitMQ takes its time to write down which queues there are; a quorum queue that it has forgotten gets no leader again.
  await rabbitmq.ctl('eval', 'mnesia:sync_log().');
});
neverHarmed(() => apart);
afterAll(async () => {
  await apart?.stop();
  await hosts?.remove();
});

const worker = (name: string): string[] => ['worker', '--name', name, '--slots', '20'];
const wordsOf = (name: string): string[] => (WORKERS.includes(name) ? worker(name) : ['reader', name]);

/** Of each kind as many as of each other, in an order that is drawn. */
class Strikes {
  readonly counts: Record<string, number> = {};
  readonly #random: Random;
  #deck: Kind[] = [];
  /** Whether it is killed next, or loses who is connected: the one after the other. Of a host: its scheduler, or its logins. */
  readonly #whole: Record<'broker' | 'database' | 'host', boolean>;
  /** Processes that are on their way up again. */
  readonly #starting: Promise<void>[] = [];

  constructor(random: Random) {
    this.#random = random;
    this.#whole = { broker: random.chance(0.5), database: random.chance(0.5), host: random.chance(0.5) };
  }

  async next(): Promise<void> {
    if (this.#deck.length === 0) this.#deck = [...KINDS];
    const [kind] = this.#deck.splice(this.#random.below(this.#deck.length), 1);
    await this.#strike(kind ?? 'worker');
  }

  async over(): Promise<void> {
    await Promise.all(this.#starting);
  }

  async #strike(kind: Kind): Promise<void> {
    switch (kind) {
      case 'worker':
        return this.#process(this.#one(WORKERS));
      case 'reader':
        return this.#process(this.#one(READERS));
      case 'server':
        this.#count('server');
        await cluster.killServer('SIGKILL');
        await this.#gone();
        return cluster.restartServer();
      case 'broker':
        if (!this.#isWhole('broker')) {
          this.#count('connections of the broker');
          await rabbitmq.ctl('close_all_connections', 'by a test');
          return;
        }
        this.#count('broker');
        rabbitmq.signal('SIGKILL');
        await this.#gone();
        return rabbitmq.start();
      case 'database':
        if (!this.#isWhole('database')) {
          this.#count('sessions of the database');
          await postgres.terminateSessions();
          return;
        }
        this.#count('database');
        await postgres.stop('SIGQUIT');
        await this.#gone();
        return postgres.start();
      case 'host':
        if (!this.#isWhole('host')) {
          this.#count('logins of the host');
          return hosts.sshd.restart();
        }
        this.#count('scheduler');
        await hosts.slurm.stopController();
        await this.#gone();
        return hosts.slurm.startController();
    }
  }

  /** It is started again while the next ones are killed. */
  async #process(name: string): Promise<void> {
    this.#count(name);
    await processes.kill(name);
    await this.#gone();
    const starting = processes.start(name, ...wordsOf(name));
    starting.catch(() => undefined);
    this.#starting.push(starting);
  }

  #isWhole(kind: 'broker' | 'database' | 'host'): boolean {
    const whole = this.#whole[kind];
    this.#whole[kind] = !whole;
    return whole;
  }

  #one(names: readonly string[]): string {
    return names[this.#random.below(names.length)] ?? '';
  }

  #gone(): Promise<void> {
    return moment(this.#random.below(GONE_MS));
  }

  #count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
  }
}

test('a job whose worker is killed goes on with the other, which begins nothing again (issue §9.1)', async () => {
  const go = join(cluster.dir, 'go');
  const waiting = cluster.launch('job run', [
    ...['job', 'run', APP, '--name', 'first', '--input', `words=${INPUT}`, '--param', `hold=${go}`],
    ...['--archive-path', 'kept/first', '--wait', '--json'],
  ]);
  waiting.closeInput();
  const id = (await waiting.logged(/job \S+-007/)).slice('job '.length);
  await until('the job to run', async () => (await jobs.find(id)).status === 'RUNNING');
  const why = async () => (await cluster.json<{ why: string[] }>('job', 'why', id)).why.join();
  const before = await why();
  await Promise.all(['w2', ...READERS].map((name) => processes.start(name, ...wordsOf(name))));
  await processes.kill('w1');
  await until('the other worker to have it', async () => (await why()) !== before, 30_000);
  expect((await jobs.find(id)).status).toBe('RUNNING');
  writeFileSync(go, '');
  expect((await waiting.exited).code, waiting.log).toBe(0);
  expect(jobs.runs().get(id)).toBe(1);
  jobs.expectKept(await jobs.find(id));
  jobs.expectLegal(id, await jobs.history(id));
  await processes.start('w1', ...worker('w1'));
}, 120_000);

test(
  `${JOBS} jobs, ${KILLS} kills of workers, readers, server, broker, database and hosts: each ends as it should, its program ran once, its output is whole`,
  async () => {
    const random = randomOfThisRun('jobs under kills');
    const strikes = new Strikes(random);
    const load = await LedgerLoad.begin(cluster, jobs, random);
    const begun = Date.now();
    for (let kill = 1; kill <= KILLS; kill++) {
      load.grow((JOBS * kill) / KILLS);
      await moment(random.below(LIFE_MS));
      await strikes.next();
    }
    await strikes.over();
    const lastKillAt = Date.now();
    await load.ended(60_000 + JOBS * JOB_MS);
    const endedAt = Date.now();
    const seen = await load.expectAll();
    expect(await processes.stop()).toEqual([0, 0, 0, 0, 0]);
    await until('nothing to run any more', () => cluster.commands().length === 0);
    const times = { kills_ms: lastKillAt - begun, then_ms: endedAt - lastKillAt };
    console.log(JSON.stringify({ killed: strikes.counts, ...seen, ...times }));
  },
  KILLS * ROUND_MS + 120_000 + JOBS * 2 * JOB_MS,
);
