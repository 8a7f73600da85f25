import type { Store } from '@muster/store';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { appendChunk } from '../../platform/src/output/chunks.js';
import { OUTPUT_LIMITS } from '../../platform/src/output/limits.js';
import { openTestStore, type TestStore } from '../../platform/test/support/test-store.js';
import { RETENTION } from '../src/limits.js';
import { outputOf } from '../src/output.js';
import { jobNodeNames } from '../src/repository/reads.js';
import { JobRetention, type JobRetentionDeps } from '../src/repository/retention.js';
import { savePushJob, savePushJobNode } from '../src/repository/writes.js';
import { jobId, jobNodeRow, jobRow } from './support/push-rows.js';
import { startPushServer } from './support/push-server.js';

/** Finished jobs go when they are old, and with them all that is stored of them. */

const DAY = 86_400_000;
const KEEP_DAYS = 90;
let given: TestStore;
let deleted = 0;
const failures: unknown[] = [];
/** Transactions of stores made by `storeWith`. */
let underWay = 0;

/** Each with the column that tells the job. */
const ID = {
  push_jobs: 'id',
  push_job_nodes: 'job_id',
  output_chunks: 'subject',
  deleted_push_jobs: 'job_id',
} as const;
const TABLES = ['push_jobs', 'push_job_nodes', 'output_chunks', 'deleted_push_jobs'] as const;

beforeAll(async () => {
  given = await openTestStore();
});
afterAll(() => given.close());
beforeEach(async () => {
  deleted = 0;
  await given.store.transact(async (trx) => {
    for (const table of TABLES) await trx.deleteFrom(table).execute();
  });
});
afterEach(() => expect(failures.splice(0)).toEqual([]));

function retention(settings: Partial<JobRetentionDeps> = {}): JobRetention {
  return new JobRetention({
    store: given.store,
    clock: given.clock,
    keepMs: KEEP_DAYS * DAY,
    isLive: () => false,
    deleted: (jobs) => {
      deleted += jobs;
    },
    failed: (error) => failures.push(error),
    ...settings,
  });
}

const daysAgo = (days: number) => given.clock.now() - days * DAY;
const ended = (number: number, days: number) =>
  savePushJob(jobRow({ id: jobId(number), status: 'complete', phase: 'finished', updated_at: daysAgo(days) }));
const nodes = (number: number, count: number) =>
  Array.from({ length: count }, (_, index) =>
    savePushJobNode(jobNodeRow({ job_id: jobId(number), node: `n${index}`, status: 'succeeded' })),
  );
const output = (number: number, count: number) =>
  Array.from({ length: count }, (_, position) =>
    appendChunk({ ...outputOf(jobId(number), 'n0'), stream: 'stdout', position, data: Buffer.from('x') }),
  );

async function numbersIn(table: (typeof TABLES)[number]): Promise<number[]> {
  const rows = await given.store.read.selectFrom(table).select(`${ID[table]} as id`).distinct().execute();
  return rows.map(({ id }) => Number.parseInt(id.replace('push/', ''), 16)).sort();
}

/** Numbers of the jobs of which something is stored. */
const stored = async () => ({
  jobs: await numbersIn('push_jobs'),
  nodes: await numbersIn('push_job_nodes'),
  output: await numbersIn('output_chunks'),
  deleted: await numbersIn('deleted_push_jobs'),
});
const only = (...numbers: number[]) => ({ jobs: numbers, nodes: numbers, output: numbers, deleted: [] });

async function rowsLeft(): Promise<number> {
  let count = 0;
  for (const table of TABLES) {
    const { rows } = await given.store.read
      .selectFrom(table)
      .select((eb) => eb.fn.countAll<number>().as('rows'))
      .executeTakeFirstOrThrow();
    count += Number(rows);
  }
  return count;
}

/** The store, with something that happens before each of its transactions. */
function storeWith(before: () => Promise<void>): Store {
  const { store } = given;
  return {
    ...store,
    read: store.read,
    transact: async (work) => {
      await before();
      underWay += 1;
      return store.transact(work).finally(() => {
        underWay -= 1;
      });
    },
  };
}

test('a job goes with its nodes and its output when its end is longer ago than jobs are kept', async () => {
  const whole = (number: number, days: number) => [ended(number, days), ...nodes(number, 2), ...output(number, 3)];
  await given.store.commit([...whole(1, KEEP_DAYS + 1), ...whole(2, KEEP_DAYS), ...whole(3, 1)]);
  await retention().prune();
  expect(await stored()).toEqual(only(2, 3));
  expect(deleted).toBe(1);
  given.clock.advance(1);
  await retention().prune();
  expect(await stored()).toEqual(only(3));
  expect(deleted).toBe(2);
});

test.each(['new', 'voting', 'running', 'aborting'] as const)(
  'a job that is %s stays, however old it is',
  async (phase) => {
    const status = phase === 'aborting' ? 'running' : phase;
    const old = { created_at: daysAgo(1000), updated_at: daysAgo(1000) };
    await given.store.commit([savePushJob(jobRow({ phase, status, ...old })), ...nodes(1, 1), ...output(1, 1)]);
    await retention().prune();
    expect(await stored()).toEqual(only(1));
  },
);

test('a job that began long ago stays until its end is as long ago', async () => {
  const finished = { status: 'complete', phase: 'finished' };
  await given.store.commit([savePushJob(jobRow({ ...finished, created_at: daysAgo(1000), updated_at: daysAgo(1) }))]);
  await retention().prune();
  expect((await stored()).jobs).toEqual([1]);
});

test('a job whose feed is still shown stays until it is not', async () => {
  let live = [jobId(1)];
  await given.store.commit([ended(1, 100), ended(2, 100)]);
  const old = retention({ isLive: (id) => live.includes(id) });
  await old.prune();
  expect((await stored()).jobs).toEqual([1]);
  live = [];
  await old.prune();
  expect((await stored()).jobs).toEqual([]);
});

test('jobs that are kept for ever stay', async () => {
  await given.store.commit([ended(1, 10_000)]);
  await retention({ keepMs: 0 }).prune();
  expect((await stored()).jobs).toEqual([1]);
});

test('more jobs than one transaction deletes go in one round', async () => {
  const numbers = Array.from({ length: RETENTION.jobs + 1 }, (_, index) => index + 1);
  await given.store.commit(numbers.flatMap((number) => [ended(number, 100), ...nodes(number, 1)]));
  await retention().prune();
  expect(await rowsLeft()).toBe(0);
  expect(deleted).toBe(numbers.length);
});

test('a large job goes at once for who looks, and its rows in transactions of bounded size between which others get their turn', async () => {
  const { nodes: mostNodes } = RETENTION;
  const { chunksCleared: mostOutputs } = OUTPUT_LIMITS;
  await given.store.commit([ended(1, 100), ...nodes(1, mostNodes + 1), ...output(1, 2 * mostOutputs + 1)]);
  const left: number[] = [];
  const others: Promise<void>[] = [];
  const store = storeWith(async () => {
    left.push(await rowsLeft());
    // Handed in now, it is stored with or before the next transaction.
    others.push(given.store.commit([ended(100 + others.length, 0)]));
    if (left.length === 1) return;
    expect((await stored()).jobs).not.toContain(1);
    expect(await jobNodeNames(given.store.read, jobId(1), ['succeeded'])).toEqual([]);
  });
  await retention({ store }).prune();
  await Promise.all(others);
  const sizes = left.slice(1).map((rows, index) => (left[index] ?? 0) - rows);
  expect(left.length).toBeGreaterThan(4);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(mostNodes + mostOutputs);
  expect((await stored()).jobs).toEqual(others.map((_, index) => 100 + index));
  expect(await rowsLeft()).toBe(others.length);
});

test('what a server that stopped in the middle left is deleted by the next one, also when that keeps jobs for ever', async () => {
  await given.store.commit([ended(1, 100), ...nodes(1, 3), ...output(1, 3 * OUTPUT_LIMITS.chunksCleared)]);
  let rounds = 0;
  const first: JobRetention = retention({
    store: storeWith(async () => {
      // Stops as the second part of its output is about to go.
      if (++rounds === 3) void first.stop();
    }),
  });
  await first.prune();
  expect(await stored()).toEqual({ jobs: [], nodes: [1], output: [1], deleted: [1] });
  await retention({ keepMs: 0 }).prune();
  expect(await rowsLeft()).toBe(0);
});

test('it is done again and again, and once more after it failed', async () => {
  let refusals = 1;
  const store = storeWith(async () => {
    if (refusals-- > 0) throw new Error('no');
  });
  const old = retention({ store });
  await given.store.commit([ended(1, 100)]);
  old.start();
  given.clock.advance(RETENTION.pauseMs);
  await expect.poll(() => failures.splice(0)).toEqual([new Error('no')]);
  await expect
    .poll(async () => {
      // A transaction that lasts as long as the pause between rounds is given up.
      if (underWay === 0) given.clock.advance(RETENTION.pauseMs);
      return rowsLeft();
    })
    .toBe(0);
  await old.stop();
  expect(given.clock.pending).toBe(0);
});

test('a job that was deleted is no longer found anywhere, and counted; others are', async () => {
  const server = await startPushServer({ push: { keep: KEEP_DAYS * 86_400 } });
  try {
    server.nodes.enter(server.org.id, 'OLD', 'succeed');
    server.nodes.enter(server.org.id, 'BUSY', 'run');
    const old = await server.start({ command: 'x', nodes: ['OLD'] });
    const running = await server.start({ command: 'x', nodes: ['BUSY'], run_timeout: 31_536_000 });
    await server.finish(old);
    server.clock.advance((KEEP_DAYS - 1) * DAY);
    expect((await server.send({ path: `jobs/${old}` })).status).toBe(200);
    server.clock.advance(DAY + 1);
    await expect
      .poll(async () => {
        // By less than a transaction may last, which would be given up.
        server.clock.advance(RETENTION.pauseMs / 20);
        return (await server.send({ path: `jobs/${old}` })).status;
      })
      .toBe(404);
    expect(await (await server.send({ path: `jobs/${old}` })).json()).toEqual({
      error: `job '${old}' does not exist`,
    });
    for (const path of [`jobs/${old}/nodes`, `jobs/${old}/output/OLD/stdout`, `job_status_feed/${old}`]) {
      expect([path, (await server.send({ path })).status]).toEqual([path, 404]);
    }
    const list = (await (await server.send({ path: 'jobs' })).json()) as { id: string }[];
    expect(list.map(({ id }) => id)).toEqual([running]);
    const metrics = await (await server.send({ path: '/metrics' })).text();
    expect(metrics).toContain('muster_push_jobs_deleted_total 1');
  } finally {
    await server.close();
  }
});
