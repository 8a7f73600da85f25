import {
  type CommitReport,
  insert,
  open,
  type Store,
  type StoreLocation,
  type StoreOptions,
  upsert,
} from '@muster/store';
import { ManualClock, MusterError } from '@muster/wire';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';

/** What the suite needs of a database besides the store itself. */
export interface Harness {
  readonly location: StoreLocation;
  /** From now on writes of a page or more fail in a way that passes. */
  fail(store: Store): Promise<void>;
  heal(): Promise<void>;
  /** Runs SQL behind the store's back. */
  raw(text: string): Promise<void>;
  drop(): Promise<void>;
}

export const organization = upsert('organizations', { id: 'text', name: 'text', created_at: 'integer' }, ['id']);
const output = upsert(
  'job_outputs',
  { job_id: 'text', node: 'text', stream: 'text', position: 'integer', data: 'bytes' },
  ['job_id', 'node', 'stream', 'position'],
);
const event = insert('job_events', { job_id: 'text', seq: 'integer', name: 'text', data: 'text', at: 'integer' }, [
  'job_id',
  'seq',
]);
export const audit = insert('audit', {
  org_id: 'text',
  at: 'integer',
  actor: 'text',
  action: 'text',
  target: 'text',
  outcome: 'text',
  detail: 'text',
});
const user = insert('principals', {
  id: 'text',
  org_id: 'text',
  type: 'text',
  name: 'text',
  server_admin: 'integer',
  created_at: 'integer',
});

export const named = (id: string, name: string) => organization({ id, name, created_at: 1 });
export const done = (target: string) =>
  audit({ org_id: null, at: 1, actor: 'a', action: 'x', target, outcome: 'done', detail: '{}' });
/** A row of several pages: a full disk cannot take it. */
const large = (position: number) =>
  output({ job_id: 'j', node: 'n', stream: 'stdout', position, data: new Uint8Array(16_384).fill(position) });
const principal = (id: string, orgId: string | null, name: string) =>
  user({ id, org_id: orgId, type: 'user', name, server_admin: 0, created_at: 1 });

/** What UTF-8, and PostgreSQL, can hold of a text. */
const wellFormed = (text: string): string => Buffer.from(text, 'utf8').toString('utf8').replaceAll('\0', '\uFFFD');

/** Waits for something to become true, not for time. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise(setImmediate);
}

/** Moves time while the store waits out an outage, until the promise is settled. */
export async function passing<T>(clock: ManualClock, store: Store, promise: Promise<T>): Promise<T> {
  let settled = false;
  const watch = (): void => {
    settled = true;
  };
  promise.then(watch, watch);
  await until(() => {
    if (!settled && !store.health().ok) clock.advance(100);
    return settled;
  });
  return promise;
}

export const silent = { warn: () => {}, error: () => {} };

export function describeStore(kind: 'sqlite' | 'postgres', make: () => Promise<Harness>): void {
  describe(`a ${kind} store`, () => {
    let harness: Harness;
    let clock: ManualClock;
    const opened: Store[] = [];
    const reports: CommitReport[] = [];

    beforeEach(async () => {
      harness = await make();
      clock = new ManualClock();
      reports.length = 0;
    });

    afterEach(async () => {
      for (const store of opened.splice(0)) await passing(clock, store, store.close());
      await harness.drop();
    });

    const openStore = async (options: Partial<StoreOptions> = {}): Promise<Store> => {
      const store = await open(harness.location, {
        clock,
        log: silent,
        observe: (report) => reports.push(report),
        ...options,
      });
      opened.push(store);
      return store;
    };
    const names = async (store: Store) =>
      (await store.read.selectFrom('organizations').select('name').orderBy('id').execute()).map((row) => row.name);
    const positions = async (store: Store) =>
      (await store.read.selectFrom('job_outputs').select('position').orderBy('position').execute()).map(
        (row) => row.position,
      );
    const targets = async (store: Store) =>
      (await store.read.selectFrom('audit').select('target').orderBy('id').execute()).map((row) => row.target);

    describe('schema', () => {
      test('an empty database gets every table', async () => {
        const store = await openStore();
        for (const table of ['nodes', 'jobs', 'job_nodes', 'job_outputs', 'job_events', 'audit'] as const) {
          expect(await store.read.selectFrom(table).selectAll().execute()).toEqual([]);
        }
      });

      test('opening again keeps what is stored', async () => {
        const first = await openStore();
        await first.commit([named('1', 'acme')]);
        await first.close();
        expect(await names(await openStore())).toEqual(['acme']);
      });

      test('a newer schema than the code knows is refused', async () => {
        await (await openStore()).close();
        await harness.raw(`insert into schema_version (version, name, applied_at) values (99, 'future', 1)`);
        await expect(openStore()).rejects.toMatchObject({ code: 'schema_too_new', details: { found: 99, known: 1 } });
      });

      test('a user name is taken once, and once in each organization', async () => {
        const store = await openStore();
        await store.commit([principal('1', null, 'ann'), principal('2', 'o1', 'ann'), principal('3', 'o2', 'ann')]);
        await expect(store.commit([principal('4', null, 'ann')])).rejects.toThrow();
        await expect(store.commit([principal('5', 'o1', 'ann')])).rejects.toThrow();
      });
    });

    describe('statements', () => {
      test('an upsert inserts a row, then replaces it', async () => {
        const store = await openStore();
        await store.commit([named('1', 'old')]);
        await store.commit([named('1', 'new')]);
        expect(await names(store)).toEqual(['new']);
      });

      test('of two writes of one key in one commit the later wins', async () => {
        const store = await openStore();
        await store.commit([named('1', 'first'), named('2', 'other'), named('1', 'last')]);
        expect(await names(store)).toEqual(['last', 'other']);
      });

      test('an insert with a key leaves the row that exists', async () => {
        const store = await openStore();
        const row = { job_id: 'j', seq: 1, data: '{}', at: 1 };
        await store.commit([event({ ...row, name: 'first' }), event({ ...row, name: 'again' })]);
        await store.commit([event({ ...row, name: 'again' })]);
        expect(await store.read.selectFrom('job_events').select('name').execute()).toEqual([{ name: 'first' }]);
      });

      test('an insert without a key makes a row each time, numbered in order', async () => {
        const store = await openStore();
        await Promise.all([
          store.persist([done('a'), done('b')]),
          store.commit([done('a')]),
          store.persist([done('c')]),
        ]);
        expect(await targets(store)).toEqual(['a', 'b', 'a', 'c']);
      });

      test('more rows than one statement takes are stored by several', async () => {
        const store = await openStore({ limits: { chunkRows: 7 } });
        const rows = Array.from({ length: 20 }, (_, index) => named(String(index).padStart(2, '0'), `n${index}`));
        await store.commit(rows);
        expect(await names(store)).toEqual(rows.map((write) => write.row.name));
      });

      test('bytes come back as they were', async () => {
        const store = await openStore();
        const data = Uint8Array.from({ length: 256 }, (_, index) => index);
        await store.commit([
          output({ job_id: 'j', node: 'n', stream: 'stderr', position: 0, data: data.subarray(3) }),
          output({ job_id: 'j', node: 'n', stream: 'stderr', position: 1, data: new Uint8Array() }),
        ]);
        const rows = await store.read.selectFrom('job_outputs').select('data').orderBy('position').execute();
        expect(rows.map((row) => [...row.data])).toEqual([[...data.subarray(3)], []]);
      });

      test('text comes back as it was', async () => {
        const store = await openStore();
        const texts = [
          '',
          'NULL',
          'null',
          '"',
          '\\',
          '\\x00',
          '{}',
          'a,b',
          "it's",
          ' ',
          '\n',
          'ß',
          '日本',
          '😀',
          '$1',
          '?',
        ];
        await store.commit(texts.map((text, index) => named(String.fromCharCode(65 + index), text)));
        expect(await names(store)).toEqual(texts);
      });

      test('any text comes back as it was, as far as UTF-8 can hold it', async () => {
        const store = await openStore();
        const text = fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.string({ unit: fc.constantFrom('\\', '"', ',', '{', '\ud800', 'N') }),
        );
        await fc.assert(
          fc.asyncProperty(fc.uniqueArray(text.map(wellFormed), { minLength: 1, maxLength: 60 }), async (texts) => {
            await store.transact((trx) => trx.deleteFrom('organizations').execute());
            await store.commit(texts.map((name, index) => named(String(index).padStart(3, '0'), name)));
            expect(await names(store)).toEqual(texts);
          }),
          { numRuns: 10 },
        );
      });

      test('NUL in text, which PostgreSQL cannot hold, becomes a replacement character', async () => {
        const store = await openStore();
        await store.commit([named('1', 'a\0b')]);
        expect(await names(store)).toEqual(['a\uFFFDb']);
      });

      test('integers, counts and sums are numbers', async () => {
        const store = await openStore();
        await store.commit([organization({ id: '1', name: 'a', created_at: 2 ** 52 })]);
        const row = await store.read
          .selectFrom('organizations')
          .select(({ fn }) => ['created_at', fn.countAll<number>().as('count'), fn.sum<number>('created_at').as('sum')])
          .groupBy('created_at')
          .executeTakeFirst();
        expect(row).toEqual({ created_at: 2 ** 52, count: 1, sum: 2 ** 52 });
      });

      test('lists are ordered by bytes, not by a locale', async () => {
        const store = await openStore();
        await store.commit(['a', 'B', 'ä', '_', 'Z'].map((text) => named(text, text)));
        const rows = await store.read.selectFrom('organizations').select('name').orderBy('name').execute();
        expect(rows.map((row) => row.name)).toEqual(['B', 'Z', '_', 'a', 'ä']);
      });
    });

    describe('group commit', () => {
      test('what is handed in together shares one transaction', async () => {
        const store = await openStore();
        await Promise.all(Array.from({ length: 1000 }, (_, index) => store.commit([named(`${index}`, `${index}`)])));
        expect(reports).toMatchObject([{ parts: 1000, rows: 1000 }]);
      });

      test('what is handed in during a commit goes into the next', async () => {
        const store = await openStore();
        const later: Promise<void>[] = [];
        await store.commit([named('1', 'a')]).then(() => {
          for (const id of ['2', '3', '4']) later.push(store.commit([named(id, id)]));
        });
        await Promise.all(later);
        expect(reports.map((report) => report.parts)).toEqual([1, 3]);
      });

      test('a batch ends at its limit of rows', async () => {
        const store = await openStore({ limits: { batchRows: 10 } });
        await Promise.all(Array.from({ length: 35 }, (_, index) => store.commit([named(`${index}`, `${index}`)])));
        expect(reports.map((report) => report.parts)).toEqual([10, 10, 10, 5]);
      });

      test('a batch ends at its limit of bytes', async () => {
        const store = await openStore({ limits: { batchBytes: 40_000 } });
        await Promise.all([1, 2, 3].map((position) => store.persist([large(position)])));
        expect(reports.map((report) => report.parts)).toEqual([2, 1]);
      });

      test('the writes of one caller are never split', async () => {
        const store = await openStore({ limits: { batchRows: 10 } });
        await store.commit(Array.from({ length: 25 }, (_, index) => named(`${index}`, `${index}`)));
        expect(reports).toMatchObject([{ parts: 1, rows: 25 }]);
      });

      test('promises resolve in the order of the calls', async () => {
        const store = await openStore({ limits: { batchRows: 3 } });
        const order: number[] = [];
        const calls = Array.from({ length: 20 }, (_, index) =>
          (index % 2 === 0 ? store.commit : store.persist)([named('1', `${index}`)]).then(() => order.push(index)),
        );
        await Promise.all(calls);
        expect(order).toEqual([...order].sort((a, b) => a - b));
        expect(await names(store)).toEqual(['19']);
      });

      test('nothing to write resolves after what was handed in before', async () => {
        const store = await openStore();
        const order: string[] = [];
        const first = store.persist([named('1', 'a')]).then(() => order.push('writes'));
        await store.persist([]).then(() => order.push('nothing'));
        await first;
        expect(order).toEqual(['writes', 'nothing']);
      });

      test('a row that the database refuses is rejected alone', async () => {
        const store = await openStore();
        const calls = Array.from({ length: 9 }, (_, index) =>
          store.commit([organization({ id: `${index}`, name: `${index}`, created_at: index === 4 ? 1.5 : 1 })]),
        );
        const results = await Promise.allSettled(calls);
        expect(results.map((result) => result.status === 'rejected')).toEqual(
          Array.from({ length: 9 }, (_, index) => index === 4),
        );
        expect(await names(store)).toEqual(['0', '1', '2', '3', '5', '6', '7', '8']);
        expect(store.health()).toEqual({ ok: true });
      });

      test('all writes of a refused caller are absent', async () => {
        const store = await openStore();
        await expect(store.commit([named('1', 'a'), done('x'), named('2', 'a')])).rejects.toThrow();
        expect(await names(store)).toEqual([]);
        expect(await targets(store)).toEqual([]);
      });

      test('a transition that can never be stored is rejected and logged, not retried', async () => {
        const errors: string[] = [];
        const store = await openStore({ log: { ...silent, error: (_detail, text) => errors.push(text) } });
        const bad = store.persist([organization({ id: '1', name: 'a', created_at: 0.5 })]);
        const good = store.persist([named('2', 'b')]);
        await expect(bad).rejects.toThrow();
        await good;
        expect(errors).toEqual(['a transition can never be stored']);
      });

      test('commit is refused while too many rows wait, persist is not', async () => {
        const store = await openStore({ limits: { pendingRows: 3 } });
        const waiting = store.commit([named('1', 'a'), named('2', 'b'), named('3', 'c')]);
        const refused = store.commit([named('4', 'd')]);
        const kept = store.persist([named('5', 'e')]);
        await expect(refused).rejects.toMatchObject({ code: 'store_unavailable' });
        await Promise.all([waiting, kept]);
        await store.commit([named('6', 'f')]);
        expect(await names(store)).toEqual(['a', 'b', 'c', 'e', 'f']);
      });
    });

    describe('an outage', () => {
      test('rejects commits with store_unavailable and stores nothing of them', async () => {
        const store = await openStore();
        await harness.fail(store);
        await expect(store.commit([named('1', 'a'), large(1)])).rejects.toMatchObject({ code: 'store_unavailable' });
        await harness.heal();
        await passing(clock, store, store.commit([large(2)]));
        expect(await positions(store)).toEqual([2]);
        expect(await names(store)).toEqual([]);
      });

      test('is survived by persist, in order, before what came later', async () => {
        const store = await openStore();
        await harness.fail(store);
        const kept = store.persist([large(1), done('first')]);
        await until(() => !store.health().ok);
        const later = [store.persist([done('second')]), store.commit([done('third')]), store.transact(async () => 1)];
        await harness.heal();
        await passing(clock, store, Promise.all([kept, ...later]));
        expect(await targets(store)).toEqual(['first', 'second', 'third']);
        expect(await positions(store)).toEqual([1]);
      });

      test('rejects the commits that shared a transaction with a persist, and keeps the persist', async () => {
        const store = await openStore();
        await harness.fail(store);
        const kept = store.persist([large(1)]);
        await expect(store.commit([large(2)])).rejects.toBeInstanceOf(MusterError);
        await harness.heal();
        await passing(clock, store, kept);
        expect(await positions(store)).toEqual([1]);
      });

      test('is told by health, with its reason and since when', async () => {
        const store = await openStore();
        await harness.fail(store);
        const kept = store.persist([large(1)]);
        await until(() => !store.health().ok);
        expect(store.health()).toMatchObject({ ok: false, since: clock.now(), reason: expect.stringMatching(/./) });
        await harness.heal();
        await passing(clock, store, kept);
        expect(store.health()).toEqual({ ok: true });
      });

      test('is over without traffic', async () => {
        const store = await openStore();
        await harness.fail(store);
        await expect(store.commit([large(1)])).rejects.toThrow();
        await harness.heal();
        await until(() => {
          clock.advance(100);
          return store.health().ok;
        });
      });

      test('is waited out between attempts: 100 ms, doubling to 5 s', async () => {
        const store = await openStore({ limits: { retryMostMs: 400 } });
        await harness.fail(store);
        const kept = store.persist([large(1)]);
        const start = clock.now();
        const attempts: number[] = [];
        while (attempts.length < 5) {
          await until(() => clock.pending === 1);
          while (clock.pending === 1) clock.advance(50);
          attempts.push(clock.now() - start);
        }
        expect(attempts).toEqual([100, 300, 700, 1100, 1500]);
        await harness.heal();
        await passing(clock, store, kept);
      });

      test('lets close reject what it could not store in time', async () => {
        const store = await openStore();
        await harness.fail(store);
        const kept = store.persist([large(1)]);
        kept.catch(() => {});
        await until(() => !store.health().ok);
        await passing(clock, store, store.close());
        await expect(kept).rejects.toMatchObject({ code: 'store_unavailable' });
        await harness.heal();
        expect(await positions(await openStore())).toEqual([]);
      });

      test('that ends while closing loses nothing', async () => {
        const store = await openStore();
        await harness.fail(store);
        const kept = store.persist([large(1)]);
        await until(() => !store.health().ok);
        const closed = store.close();
        await harness.heal();
        await passing(clock, store, Promise.all([kept, closed]));
        expect(await positions(await openStore())).toEqual([1]);
      });
    });

    describe('transact', () => {
      test('answers what the callback returns, and sees its own writes', async () => {
        const store = await openStore();
        const found = await store.transact(async (trx) => {
          await trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute();
          return trx.selectFrom('groups').select('name').execute();
        });
        expect(found).toEqual([{ name: 'g' }]);
        expect(await store.read.selectFrom('groups').select('name').execute()).toEqual([{ name: 'g' }]);
      });

      test('stores nothing when the callback throws, and rejects with its error', async () => {
        const store = await openStore();
        const failing = store.transact(async (trx) => {
          await trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute();
          throw new MusterError('not_found', { kind: 'user', name: 'x' });
        });
        await expect(failing).rejects.toMatchObject({ code: 'not_found' });
        expect(await store.read.selectFrom('groups').selectAll().execute()).toEqual([]);
        expect(store.health()).toEqual({ ok: true });
      });

      test('is invisible to readers until it is done', async () => {
        const store = await openStore();
        await store.transact(async (trx) => {
          await trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute();
          expect(await store.read.selectFrom('groups').selectAll().execute()).toEqual([]);
        });
        expect(await store.read.selectFrom('groups').selectAll().execute()).toHaveLength(1);
      });

      test('takes its turn among the group commits', async () => {
        const store = await openStore();
        const before = store.persist([named('1', 'before')]);
        let seen: unknown;
        const turn = store.transact(async (trx) => {
          seen = await trx.selectFrom('organizations').select('name').execute();
        });
        const after = store.persist([named('2', 'after')]);
        await Promise.all([before, turn, after]);
        expect(seen).toEqual([{ name: 'before' }]);
        expect(await names(store)).toEqual(['before', 'after']);
      });

      test('keeps group commits out while its callback is at work', async () => {
        const store = await openStore();
        let commit: Promise<void> | undefined;
        await store.transact(async () => {
          commit = store.commit([named('1', 'a')]);
          for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
          expect(reports).toEqual([]);
        });
        await commit;
        expect(reports).toHaveLength(1);
      });

      test('is cut off when its callback takes too long', async () => {
        const store = await openStore();
        let inserted = false;
        const endless = store.transact(async (trx) => {
          await trx.insertInto('groups').values({ org_id: 'o', name: 'g', created_at: 1 }).execute();
          inserted = true;
          await new Promise(() => {});
        });
        endless.catch(() => {});
        await until(() => inserted);
        clock.advance(30_000);
        await expect(endless).rejects.toThrow('took longer than 30 s');
        await passing(clock, store, store.commit([named('1', 'a')]));
        expect(await store.read.selectFrom('groups').selectAll().execute()).toEqual([]);
      });

      test('is rejected with store_unavailable in an outage', async () => {
        const store = await openStore();
        await harness.fail(store);
        const turn = store.transact((trx) =>
          trx
            .insertInto('job_outputs')
            .values({ job_id: 'j', node: 'n', stream: 'stdout', position: 1, data: Buffer.alloc(16_384) })
            .execute(),
        );
        await expect(turn).rejects.toMatchObject({ code: 'store_unavailable' });
        await harness.heal();
      });
    });

    describe('close', () => {
      test('stores what was handed in', async () => {
        const store = await openStore();
        const calls = [
          store.commit([named('1', 'a')]),
          store.persist([named('2', 'b')]),
          store.transact(async () => 3),
        ];
        await store.close();
        await Promise.all(calls);
        expect(await names(await openStore())).toEqual(['a', 'b']);
      });

      test('refuses what comes later', async () => {
        const store = await openStore();
        await store.close();
        await expect(store.commit([named('1', 'a')])).rejects.toMatchObject({ code: 'store_unavailable' });
        await expect(store.persist([named('1', 'a')])).rejects.toMatchObject({ code: 'store_unavailable' });
        await expect(store.transact(async () => 1)).rejects.toMatchObject({ code: 'store_unavailable' });
      });
    });
  });
}
