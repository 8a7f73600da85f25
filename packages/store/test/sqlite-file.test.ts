import { closeSync, existsSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock } from '@muster/base';
import { Leases, open, type Store, type StoreOptions } from '@muster/store';
import Database from 'better-sqlite3';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { MIGRATIONS } from '../../platform/test/support/migrations.js';
import { done, large, named } from './conformance/rows.js';
import { silent, until } from './conformance/suite.js';

/** The file in which SQLite keeps a database: whether it is whole, sound, and the one that was there before. */
let directory: string;
let path: string;
const opened: Store[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'muster-file-'));
  path = join(directory, 'muster.db');
});
afterEach(async () => {
  await Promise.all(opened.splice(0).map((store) => store.close()));
  rmSync(directory, { recursive: true, force: true });
});

async function openFile(options: Partial<StoreOptions> = {}): Promise<Store> {
  const store = await open(
    { kind: 'sqlite', path },
    { migrations: MIGRATIONS, clock: new ManualClock(), log: silent, ...options },
  );
  opened.push(store);
  return store;
}

async function stored(writes: Parameters<Store['commit']>[0]): Promise<void> {
  const store = await openFile();
  await store.commit(writes);
  await store.close();
}

describe('a clean stop', () => {
  test('leaves everything in the one file: a copy of it is whole', async () => {
    await stored([named('1', 'acme'), large(1)]);
    expect(existsSync(`${path}-wal`)).toBe(false);
    const copy = new Database(path, { readonly: true });
    expect(copy.prepare('select name from organizations').pluck().all()).toEqual(['acme']);
    copy.close();
  });

  test('leaves the log empty also where somebody else has the file open', async () => {
    const store = await openFile();
    const other = new Database(path, { readonly: true });
    await store.commit([named('1', 'acme'), large(1)]);
    expect(other.prepare('select count(*) from organizations').pluck().get()).toBe(1);
    await store.close();
    expect(statSync(`${path}-wal`).size).toBe(0);
    other.close();
  });
});

test('whoever held a lease is gone when the file is opened again: nobody waits until it is over', async () => {
  const clock = new ManualClock();
  const acquired = async (store: Store, holder: string) =>
    new Leases({ store, clock, holder }).acquire('thing', 10_000);
  const first = await openFile();
  await acquired(first, 'a');
  await first.close();
  const shared = await openFile({ exclusive: false });
  expect(await acquired(shared, 'b')).toMatchObject({ kind: 'held', holder: 'a' });
  await shared.close();
  const answer = await acquired(await openFile(), 'b');
  expect(answer).toMatchObject({ kind: 'acquired', lease: { holder: 'b', epoch: 2 } });
});

/** Overwrites the pages of this table and its indexes, wherever they are. */
function damage(table: string): void {
  const db = new Database(path);
  const pageSize = db.pragma('page_size', { simple: true }) as number;
  const pages = db.prepare('select rootpage from sqlite_schema where tbl_name = ?').pluck().all(table) as number[];
  db.close();
  const file = openSync(path, 'r+');
  for (const page of pages) writeSync(file, Buffer.alloc(pageSize, 0xa5), 0, pageSize, (page - 1) * pageSize);
  closeSync(file);
}

describe('a damaged file', () => {
  const CHECKED = { limits: { checkDelayMs: 0 } };

  test('is found out after the start, though nobody reads what is damaged: health and log say so, other tables go on', async () => {
    await stored([named('1', 'acme'), done('x')]);
    damage('audit');
    const errors: string[] = [];
    const store = await openFile({ ...CHECKED, log: { ...silent, error: (_detail, text) => errors.push(text) } });
    await until(() => !store.health().ok);
    expect(store.health()).toMatchObject({
      problem: 'damaged',
      reason: expect.stringContaining('the file is damaged'),
    });
    expect(errors).toEqual([
      'the database is damaged: stop the server, keep a copy of the file, and put a backup in its place',
    ]);
    await store.commit([named('2', 'other')]);
    expect(store.health()).toMatchObject({ ok: false, problem: 'damaged' });
  });

  test('is found out by whoever reads what is damaged: the read is refused, health says so', async () => {
    await stored([done('x')]);
    damage('audit');
    const store = await openFile();
    expect(store.health()).toEqual({ ok: true });
    await expect(store.read.selectFrom('audit').selectAll().execute()).rejects.toMatchObject({
      code: 'store_unavailable',
    });
    expect(store.health()).toMatchObject({ ok: false, problem: 'damaged' });
  });

  test('is not assumed where the check takes too long: it is given up, and the log says so', async () => {
    await stored([named('1', 'acme'), large(1)]);
    const told: string[] = [];
    const log = { warn: (_detail: object, text: string) => told.push(text), error: silent.error };
    const store = await openFile({ log, limits: { checkDelayMs: 0, checkMs: 1 } });
    // Cut off by its limit, it is said not to have been checked.
    await until(() => told.length > 0);
    expect(told).toEqual([expect.stringContaining('the database could not be checked')]);
    expect(store.health()).toEqual({ ok: true });
  });

  test('that is being checked can be closed at once', async () => {
    const store = await openFile(CHECKED);
    await store.commit([named('1', 'acme')]);
    await new Promise((resolve) => setTimeout(resolve, 0));
    await store.close();
    expect(existsSync(`${path}-wal`)).toBe(false);
  });
});

describe('an empty file', () => {
  test('where a database has been in use is refused with words', async () => {
    writeFileSync(path, '');
    await expect(openFile({ established: true })).rejects.toMatchObject({
      code: 'database_lost',
      message: `the database ${path} is empty, but the keys beside it (server.pem) say that it has been in use`,
    });
    expect(statSync(path).size).toBe(0);
  });

  test('is a new database where there was none, and no file is one everywhere', async () => {
    writeFileSync(path, '');
    await (await openFile()).close();
    rmSync(path);
    await openFile({ established: true });
  });

  test('whose content is still in the log beside it is none', async () => {
    const store = await openFile();
    await store.commit([named('1', 'acme')]);
    await openFile({ established: true });
  });
});
