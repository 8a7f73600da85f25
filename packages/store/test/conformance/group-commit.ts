import { describe, expect, test } from 'vitest';
import { done, large, named, organization } from './rows.js';
import { type Suite, silent } from './suite.js';

export function groupCommitSuite(suite: Suite): void {
  const { openStore, names, targets } = suite;
  describe('group commit', () => {
    test('what is handed in together shares one transaction', async () => {
      const store = await openStore();
      await Promise.all(Array.from({ length: 1000 }, (_, index) => store.commit([named(`${index}`, `${index}`)])));
      expect(suite.reports).toMatchObject([{ parts: 1000, rows: 1000 }]);
    });

    test('what is handed in during a commit goes into the next', async () => {
      const store = await openStore();
      const later: Promise<void>[] = [];
      await store.commit([named('1', 'a')]).then(() => {
        for (const id of ['2', '3', '4']) later.push(store.commit([named(id, id)]));
      });
      await Promise.all(later);
      expect(suite.reports.map((report) => report.parts)).toEqual([1, 3]);
    });

    test('what is handed in as soon as a commit is durable is being stored before anybody else hears of it', async () => {
      const store = await openStore();
      const order: string[] = [];
      const next: Promise<unknown>[] = [];
      const handIn = (): void => {
        order.push('durable');
        const commit = store.commit([named('2', 'b')]).then(() => order.push('second told'));
        next.push(commit);
      };
      await store.commit([named('1', 'a')], handIn).then(() => {
        order.push(`first told, ${suite.reports.length} stored`);
        next.push(store.commit([named('3', 'c')]));
      });
      await Promise.all(next);
      expect(order).toEqual(['durable', 'first told, 1 stored', 'second told']);
      // What is handed in when the first is told comes too late for the second.
      expect(suite.reports.map((report) => report.parts)).toEqual([1, 1, 1]);
      expect(await names(store)).toEqual(['a', 'b', 'c']);
    });

    test('nobody is told that a commit is durable which is not', async () => {
      const store = await openStore();
      const told: string[] = [];
      const calls = [
        store.commit([named('1', 'a')], () => told.push('a')),
        store.commit([organization({ id: '2', name: 'b', created_at: 0.5 })], () => told.push('b')),
        store.commit([named('3', 'c')], () => told.push('c')),
      ];
      const results = await Promise.allSettled(calls);
      expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      expect(told).toEqual(['a', 'c']);
    });

    test('whoever fails when told that a commit is durable keeps nobody waiting', async () => {
      const errors: object[] = [];
      const store = await openStore({ log: { warn: () => {}, error: (detail) => errors.push(detail) } });
      const error = new Error('defect');
      const told: string[] = [];
      const fails = () => {
        throw error;
      };
      await Promise.all([
        store.commit([named('1', 'a')], fails),
        store.commit([named('2', 'b')], () => told.push('b')),
      ]);
      await store.commit([named('3', 'c')]);
      expect(told).toEqual(['b']);
      expect(errors).toEqual([{ err: error }]);
      expect(await names(store)).toEqual(['a', 'b', 'c']);
    });

    test('a batch ends at its limit of rows', async () => {
      const store = await openStore({ limits: { batchRows: 10 } });
      await Promise.all(Array.from({ length: 35 }, (_, index) => store.commit([named(`${index}`, `${index}`)])));
      expect(suite.reports.map((report) => report.parts)).toEqual([10, 10, 10, 5]);
    });

    test('a batch ends at its limit of bytes', async () => {
      const store = await openStore({ limits: { batchBytes: 40_000 } });
      await Promise.all([1, 2, 3].map((position) => store.persist([large(position)])));
      expect(suite.reports.map((report) => report.parts)).toEqual([2, 1]);
    });

    test('the writes of one caller are never split', async () => {
      const store = await openStore({ limits: { batchRows: 10 } });
      await store.commit(Array.from({ length: 25 }, (_, index) => named(`${index}`, `${index}`)));
      expect(suite.reports).toMatchObject([{ parts: 1, rows: 25 }]);
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

    test('a refused commit is its caller’s business alone', async () => {
      const told: unknown[] = [];
      const store = await openStore({ refused: (error) => told.push(error) });
      await expect(store.commit([organization({ id: '1', name: 'a', created_at: 0.5 })])).rejects.toThrow();
      expect(told).toEqual([]);
    });

    test('positions are kept exactly up to the largest count that travels', async () => {
      const store = await openStore();
      const largest = Number.MAX_SAFE_INTEGER;
      await store.persist([large(2 ** 51), large(2 ** 52), large(largest)]);
      expect(await suite.positions(store)).toEqual([2 ** 51, 2 ** 52, largest]);
    });

    test('all writes of a refused caller are absent', async () => {
      const store = await openStore();
      await expect(store.commit([named('1', 'a'), done('x'), named('2', 'a')])).rejects.toThrow();
      expect(await names(store)).toEqual([]);
      expect(await targets(store)).toEqual([]);
    });

    test('a transition that can never be stored is rejected, logged and told, not retried', async () => {
      const errors: string[] = [];
      const told: unknown[] = [];
      const store = await openStore({
        log: { ...silent, error: (_detail, text) => errors.push(text) },
        refused: (error) => told.push(error),
      });
      const bad = store.persist([organization({ id: '1', name: 'a', created_at: 0.5 })]);
      const good = store.persist([named('2', 'b')]);
      const refusal = await bad.catch((error: unknown) => error);
      await good;
      expect(refusal).toBeInstanceOf(Error);
      expect(errors).toEqual(['a transition can never be stored']);
      expect(told).toEqual([refusal]);
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
  describe('close', () => {
    test('stores what was handed in', async () => {
      const store = await openStore();
      const calls = [store.commit([named('1', 'a')]), store.persist([named('2', 'b')]), store.transact(async () => 3)];
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
}
