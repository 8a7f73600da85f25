import { MusterError } from '@muster/base';
import { describe, expect, test } from 'vitest';
import { done, large, named } from './rows.js';
import { passing, type Suite, silent, until } from './suite.js';

const YEAR = 31_536_000_000;

export function outageSuite(suite: Suite): void {
  const { openStore, names, positions, targets } = suite;
  describe('an outage', () => {
    test('rejects commits with store_unavailable and stores nothing of them', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      await expect(store.commit([named('1', 'a'), large(1)])).rejects.toMatchObject({ code: 'store_unavailable' });
      await suite.harness.heal();
      await passing(suite.clock, store, store.commit([large(2)]));
      expect(await positions(store)).toEqual([2]);
      expect(await names(store)).toEqual([]);
    });

    test('is survived by persist, in order, before what came later', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1), done('first')]);
      await until(() => !store.health().ok);
      const later = [store.persist([done('second')]), store.commit([done('third')]), store.transact(async () => 1)];
      const all = Promise.allSettled([kept, ...later]);
      await suite.harness.heal();
      const ended = await passing(suite.clock, store, all);
      expect(ended.map(({ status }) => status)).toEqual(new Array(4).fill('fulfilled'));
      expect(await targets(store)).toEqual(['first', 'second', 'third']);
      expect(await positions(store)).toEqual([1]);
    });

    test('rejects the commits that shared a transaction with a persist, and keeps the persist', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      await expect(store.commit([large(2)])).rejects.toBeInstanceOf(MusterError);
      await suite.harness.heal();
      await passing(suite.clock, store, kept);
      expect(await positions(store)).toEqual([1]);
    });

    test('refuses those behind a transaction that waits behind a persist, without its end', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      await until(() => !store.health().ok);
      const refused = { code: 'store_unavailable' };
      const chunk = { subject: 'j', part: 'n', stream: 'stdout', position: 2, data: Buffer.alloc(16_384) } as const;
      const transaction = store.transact((trx) => trx.insertInto('output_chunks').values(chunk).execute());
      const behind = [transaction, store.commit([large(3)])].map((call) => expect(call).rejects.toMatchObject(refused));
      await passing(suite.clock, store, Promise.all(behind));
      await suite.harness.heal();
      await passing(suite.clock, store, kept);
      expect(await positions(store)).toEqual([1]);
    });

    test('is told by health, with its reason and since when', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      await until(() => !store.health().ok);
      expect(store.health()).toMatchObject({ ok: false, since: suite.clock.now(), reason: expect.stringMatching(/./) });
      await suite.harness.heal();
      await passing(suite.clock, store, kept);
      expect(store.health()).toEqual({ ok: true });
    });

    test('is said to have been as long as it was, though somebody set the clock back', async () => {
      const told: object[] = [];
      const store = await openStore({ log: { ...silent, warn: (detail) => void told.push(detail) } });
      await suite.harness.fail(store);
      await expect(store.commit([large(1)])).rejects.toThrow();
      suite.clock.set(-YEAR);
      const begun = suite.clock.monotonic();
      await suite.harness.heal();
      await until(() => {
        if (!store.health().ok) suite.clock.advance(100);
        return store.health().ok;
      });
      expect(told.at(-1)).toEqual({ outage_ms: suite.clock.monotonic() - begun });
    });

    test('is over without traffic', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      await expect(store.commit([large(1)])).rejects.toThrow();
      await suite.harness.heal();
      await until(() => {
        suite.clock.advance(100);
        return store.health().ok;
      });
    });

    test('is waited out between attempts: 100 ms, doubling to 5 s', async () => {
      const store = await openStore({ limits: { retryMostMs: 400 } });
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      const start = suite.clock.now();
      const attempts: number[] = [];
      while (attempts.length < 5) {
        await until(() => suite.clock.pending === 1);
        while (suite.clock.pending === 1) suite.clock.advance(50);
        attempts.push(suite.clock.now() - start);
      }
      expect(attempts).toEqual([100, 300, 700, 1100, 1500]);
      await suite.harness.heal();
      await passing(suite.clock, store, kept);
    });

    test('lets close reject what it could not store in time', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      kept.catch(() => {});
      await until(() => !store.health().ok);
      await passing(suite.clock, store, store.close());
      await expect(kept).rejects.toMatchObject({ code: 'store_unavailable' });
      await suite.harness.heal();
      expect(await positions(await openStore())).toEqual([]);
    });

    test('is not waited for longer while closing, though somebody sets the clock back', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      kept.catch(() => undefined);
      await until(() => !store.health().ok);
      const closed = store.close();
      suite.clock.set(-YEAR);
      await passing(suite.clock, store, closed);
      await expect(kept).rejects.toMatchObject({ code: 'store_unavailable' });
    });

    test('that ends while closing loses nothing', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const kept = store.persist([large(1)]);
      await until(() => !store.health().ok);
      const closed = store.close();
      await suite.harness.heal();
      await passing(suite.clock, store, Promise.all([kept, closed]));
      expect(await positions(await openStore())).toEqual([1]);
    });
  });

  describe('a database that hangs', () => {
    test('is told by health in bounded time, and so is its end', async () => {
      const { store, database } = await suite.openFreezable();
      database.freeze();
      const kept = store.persist([done('a')]);
      await until(() => !store.health().ok);
      expect(store.health()).toMatchObject({
        problem: 'unavailable',
        reason: expect.stringMatching(/took longer|for 1 s/),
      });
      database.thaw();
      await passing(suite.clock, store, kept);
      await until(() => store.health().ok);
      expect(await targets(store)).toEqual(['a']);
    });

    test('refuses those who wait in bounded time and those who come later at once; transitions wait', async () => {
      const { store, database } = await suite.openFreezable();
      database.freeze();
      const first = store.persist([done('first')]);
      await new Promise(setImmediate);
      const waiting = [store.commit([done('a')]), store.transact(async () => 1)];
      const second = store.persist([done('second')]);
      const refusal = { code: 'store_unavailable', status: 503 };
      await Promise.all(waiting.map((call) => expect(call).rejects.toMatchObject(refusal)));
      await expect(store.commit([done('b')])).rejects.toMatchObject(refusal);
      await expect(store.transact(async () => 1)).rejects.toMatchObject(refusal);
      database.thaw();
      await passing(suite.clock, store, Promise.all([first, second]));
      await until(() => store.health().ok);
      expect(await targets(store)).toEqual(['first', 'second']);
    });

    test('leaves nobody told "not stored" of what is stored, nor the other way round', async () => {
      const { store, database } = await suite.openFreezable();
      database.freeze();
      const commits = await Promise.all(
        ['a', 'b', 'c'].map(async (target) => {
          const told = store.commit([done(target)]).then(
            () => [target],
            () => [],
          );
          await new Promise(setImmediate);
          return { told };
        }),
      );
      await until(() => !store.health().ok);
      database.thaw();
      const told = await passing(suite.clock, store, Promise.all(commits.map((commit) => commit.told)));
      await until(() => store.health().ok);
      expect(await targets(store)).toEqual(told.flat());
    });
  });
}
