import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { begun, done, group, named, organization, output, renamed } from './rows.js';
import { type Suite, wellFormed } from './suite.js';

export function statementsSuite(suite: Suite): void {
  const { openStore, names, targets } = suite;
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

    test('an update changes the row with its key, and makes none', async () => {
      const store = await openStore();
      await store.commit([
        organization({ id: '1', name: 'one', created_at: 1 }),
        organization({ id: '2', name: 'two', created_at: 2 }),
        organization({ id: '3', name: 'three', created_at: 3 }),
      ]);
      await store.commit([
        renamed({ id: '1', name: 'first', created_at: 1 }),
        renamed({ id: '1', name: 'last', created_at: 1 }),
        renamed({ id: '2', name: 'of another time', created_at: 1 }),
        renamed({ id: '4', name: 'nobody', created_at: 4 }),
      ]);
      expect((await names(store)).toSorted()).toEqual(['last', 'three', 'two']);
    });

    test('what says that it comes first is followed by what its commit writes of the same row in another way', async () => {
      const store = await openStore();
      await store.commit([named('1', 'one'), named('2', 'two'), named('3', 'three')]);
      await store.commit([
        named('1', 'other'),
        begun({ id: '2', name: 'not the last word' }),
        begun({ id: '3', name: 'begun' }),
        named('2', 'the last word'),
      ]);
      expect((await names(store)).toSorted()).toEqual(['begun', 'other', 'the last word']);
    });

    test('an insert with a key leaves the row that exists', async () => {
      const store = await openStore();
      const row = { org_id: 'o', name: 'g' };
      await store.commit([group({ ...row, created_at: 1 }), group({ ...row, created_at: 2 })]);
      await store.commit([group({ ...row, created_at: 3 })]);
      expect(await store.read.selectFrom('groups').select('created_at').execute()).toEqual([{ created_at: 1 }]);
    });

    test('an insert without a key makes a row each time, numbered in order', async () => {
      const store = await openStore();
      await Promise.all([store.persist([done('a'), done('b')]), store.commit([done('a')]), store.persist([done('c')])]);
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
        output({ subject: 'j', part: 'n', stream: 'stderr', position: 0, data: data.subarray(3) }),
        output({ subject: 'j', part: 'n', stream: 'stderr', position: 1, data: new Uint8Array() }),
      ]);
      const rows = await store.read.selectFrom('output_chunks').select('data').orderBy('position').execute();
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
}
