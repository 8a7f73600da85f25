import { setTimeout as moment } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { LedgerJobs } from './support/ledger-jobs.js';
import { LedgerLoad } from './support/ledger-load.js';
import { randomOfThisRun } from './support/random.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/**
 * A server with everything in its own process, the queues of jobs in its database, is killed with -9 at random moments while jobs
 * run. For the long run: MUSTER_TEST_FAULT_JOBS=300 MUSTER_TEST_FAULT_KILLS=30; MUSTER_TEST_SEED=random for other moments.
 */
const JOBS = Number(process.env.MUSTER_TEST_FAULT_JOBS ?? 10);
const KILLS = Number(process.env.MUSTER_TEST_FAULT_KILLS ?? 3);
const LIFE_MS = 2000;
const GONE_MS = 500;
const ROUND_MS = 20_000;
const JOB_MS = 1000;

let cluster: Cluster;
let jobs: LedgerJobs;

beforeAll(async () => {
  cluster = await Cluster.start();
  jobs = await LedgerJobs.prepare(cluster);
});
neverHarmed(() => cluster);
afterAll(() => cluster?.stop());

test(
  `${JOBS} jobs, the server killed ${KILLS} times: each ends as it should, its program ran once, its output is whole`,
  async () => {
    const random = randomOfThisRun('jobs under kills of the server');
    const load = await LedgerLoad.begin(cluster, jobs, random);
    for (let kill = 1; kill <= KILLS; kill++) {
      load.grow((JOBS * kill) / KILLS);
      await moment(random.below(LIFE_MS));
      await cluster.killServer('SIGKILL');
      await moment(random.below(GONE_MS));
      await cluster.restartServer();
    }
    await load.ended(60_000 + JOBS * JOB_MS);
    const seen = await load.expectAll();
    expect((await cluster.killServer('SIGTERM')).code).toBe(0);
    await until('nothing to run any more', () => cluster.commands().length === 0);
    console.log(JSON.stringify(seen));
  },
  KILLS * ROUND_MS + 120_000 + JOBS * 2 * JOB_MS,
);
