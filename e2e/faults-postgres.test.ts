import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { JobLoad } from './support/job-load.js';
import { PrivatePostgres } from './support/private-postgres.js';
import { ReadLoad } from './support/read-load.js';
import { neverHarmed } from './support/unharmed.js';
import { until } from './support/until.js';

/** PostgreSQL breaks under a server that works (a private PostgreSQL, so that nobody else is disturbed). */
const NAMES = ['a', 'b', 'c'];
/** docs/guarantees.md: once PostgreSQL answers, requests are accepted again within this time (the longest pause between attempts is 5 s). */
const RECOVERY_MS = 10_000;
/** docs/guarantees.md: that PostgreSQL hangs is noticed within 5 s; here on a machine that is busy with other tests. */
const NOTICED_MS = 10_000;
const TERMINATIONS = 20;

let postgres: PrivatePostgres;
let cluster: Cluster;
let held: HeldCommand;
/** In every test somebody reads, too. */
let reads: ReadLoad;

beforeAll(async () => {
  postgres = await PrivatePostgres.start();
  cluster = await Cluster.start({ database: postgres });
  held = new HeldCommand(cluster.dir, 'held');
  const commands = { held: held.entry, quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands, grace: 1 }])));
});
beforeEach(() => {
  held.reset();
  reads = new ReadLoad(cluster);
});
afterEach(async () => {
  postgres.thaw();
  await reads.served(10);
  await reads.stop();
  expect(reads.refusals.filter((refusal) => refusal !== '503 store_unavailable')).toEqual([]);
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

async function takesJobs(): Promise<void> {
  await until('a job to be accepted', async () => cluster.startJob({ command: 'quick', nodes: NAMES }), RECOVERY_MS);
}

/** Not the load's own client: its request may be in doubt, and is answered when that is decided. */
async function refusesJobs(): Promise<void> {
  for (let n = 0; n < 3; n++) {
    const refused = await cluster.api.post('pushy/jobs', { command: 'quick', nodes: NAMES });
    expect([refused.status, refused.headers['x-muster-error']]).toEqual([503, 'store_unavailable']);
  }
}

const storeStatus = async () =>
  ((await (await fetch(`${cluster.url}/_status`)).json()) as { store: { ok: boolean; problem?: string } }).store;

/** A job that is not waited for: `STATUS CODE`, or nothing while it is in doubt. */
async function submit(): Promise<string> {
  const { status, headers } = await cluster.api.post('pushy/jobs', { command: 'quick', nodes: NAMES });
  return `${status} ${headers['x-muster-error']}`;
}

async function runningEverywhere(): Promise<string> {
  await cluster.available(...NAMES);
  const id = await cluster.startJob({ command: 'held', nodes: NAMES });
  await cluster.nodeCountIn(id, 'running', NAMES.length);
  return id;
}

describe.each([
  ['restarted', 'SIGINT'],
  ['crashed and started again', 'SIGQUIT'],
] as const)('PostgreSQL is %s', (_, signal) => {
  test('while commands run and end: new jobs get 503, results wait and are stored when it is back', async () => {
    const id = await runningEverywhere();
    await postgres.stop(signal);
    await refusesJobs();
    held.release();
    await until('the commands to end', () => cluster.commands().length === 0);
    await postgres.start();
    await takesJobs();
    const job = await cluster.jobIs(id, 'complete');
    expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);
    expect(held.runs).toEqual(NAMES);
  });

  test('under load: what was acknowledged is there and ends, the rest was refused', async () => {
    await cluster.available(...NAMES);
    const load = new JobLoad(cluster, { command: 'quick', nodes: NAMES, quorum: 1 });
    await load.accepted(5);
    await postgres.stop(signal);
    await refusesJobs();
    await postgres.start();
    await load.accepted(5);
    const { acknowledged, refusals } = await load.stop();
    expect(refusals.filter((refusal) => refusal !== '503 store_unavailable')).toEqual([]);
    for (const id of acknowledged) await cluster.jobEnds(id);
    await cluster.available(...NAMES);
  });
});

test(`its sessions are terminated ${TERMINATIONS} times under load: what was acknowledged is there and ends`, async () => {
  await cluster.available(...NAMES);
  const load = new JobLoad(cluster, { command: 'quick', nodes: NAMES, quorum: 1 });
  for (let n = 0; n < TERMINATIONS; n++) {
    await load.accepted(2);
    expect(await postgres.terminateSessions()).toBeGreaterThan(0);
  }
  await load.accepted(5);
  const { acknowledged, refusals } = await load.stop();
  expect(refusals.filter((refusal) => refusal !== '503 store_unavailable')).toEqual([]);
  for (const id of acknowledged) await cluster.jobEnds(id);
  await cluster.available(...NAMES);
}, 90_000);

describe.each([
  ['frozen', 'everything'],
  ['frozen in the sessions that it has', 'sessions'],
] as const)('PostgreSQL is %s', (_, what) => {
  test('while commands run and end: the status says so and jobs and reads get 503, results wait and are stored when it goes on', async () => {
    const id = await runningEverywhere();
    await reads.served(10);
    postgres.freeze(what);
    await Promise.all([
      until('the status to say so', async () => !(await storeStatus()).ok, NOTICED_MS),
      reads.refused(1, NOTICED_MS),
      until('a job to be refused', async () => (await submit()) === '503 store_unavailable', 2 * NOTICED_MS),
    ]);
    expect(await storeStatus()).toEqual({ ok: false, problem: 'unavailable' });
    held.release();
    await until('the commands to end', () => cluster.commands().length === 0);
    postgres.thaw();
    await takesJobs();
    await until('the status to be well', async () => (await storeStatus()).ok, RECOVERY_MS);
    const job = await cluster.jobIs(id, 'complete');
    expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);
    expect(held.runs).toEqual(NAMES);
  });

  test('under load: what was acknowledged is there and ends, the rest was refused', async () => {
    await cluster.available(...NAMES);
    const load = new JobLoad(cluster, { command: 'quick', nodes: NAMES, quorum: 1 });
    await load.accepted(5);
    postgres.freeze(what);
    await until('the status to say so', async () => !(await storeStatus()).ok, NOTICED_MS);
    postgres.thaw();
    await load.accepted(5);
    const { acknowledged, refusals } = await load.stop();
    expect(refusals.filter((refusal) => refusal !== '503 store_unavailable')).toEqual([]);
    for (const id of acknowledged) await cluster.jobEnds(id);
    await cluster.available(...NAMES);
  });
});
