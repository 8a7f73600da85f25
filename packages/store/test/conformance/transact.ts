import { MusterError } from '@muster/base';
import { describe, expect, test } from 'vitest';
import { named } from './rows.js';
import { passing, type Suite, until } from './suite.js';

export function transactSuite(suite: Suite): void {
  const { openStore, names } = suite;
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
        expect(suite.reports).toEqual([]);
      });
      await commit;
      expect(suite.reports).toHaveLength(1);
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
      suite.clock.advance(30_000);
      await expect(endless).rejects.toThrow('took longer than 30 s');
      await passing(suite.clock, store, store.commit([named('1', 'a')]));
      expect(await store.read.selectFrom('groups').selectAll().execute()).toEqual([]);
    });

    test('a callback that was cut off and goes on changes nothing', async () => {
      const store = await openStore();
      let goOn = (): void => {};
      const waiting = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      let late: Promise<unknown> | undefined;
      let inside = false;
      const endless = store.transact(async (trx) => {
        inside = true;
        await waiting;
        late = trx.insertInto('groups').values({ org_id: 'o', name: 'late', created_at: 1 }).execute();
        late.catch(() => {});
        await late;
      });
      endless.catch(() => {});
      await until(() => inside);
      suite.clock.advance(30_000);
      await expect(endless).rejects.toThrow('took longer than 30 s');
      const next = store.transact(async (trx) => {
        goOn();
        await until(() => late !== undefined);
        await expect(late).rejects.toThrow();
        await trx.insertInto('groups').values({ org_id: 'o', name: 'next', created_at: 1 }).execute();
      });
      await passing(suite.clock, store, next);
      expect(await store.read.selectFrom('groups').select('name').execute()).toEqual([{ name: 'next' }]);
    });

    test('is rejected with store_unavailable in an outage', async () => {
      const store = await openStore();
      await suite.harness.fail(store);
      const turn = store.transact((trx) =>
        trx
          .insertInto('output_chunks')
          .values({ subject: 'j', part: 'n', stream: 'stdout', position: 1, data: Buffer.alloc(16_384) })
          .execute(),
      );
      await expect(turn).rejects.toMatchObject({ code: 'store_unavailable' });
      await suite.harness.heal();
    });
  });
}
