import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type FileHandle, open as openFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { open, type Store } from '@muster/store';
import { ManualClock } from '@muster/wire';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { describeStore } from './conformance/index.js';
import { named } from './conformance/rows.js';
import { type Harness, passing, silent } from './conformance/suite.js';

const BALLAST_BYTES = 1_048_576;

/** A disk that is full: no page beyond those there are, until the ballast is thrown out. */
async function sqlite(): Promise<Harness> {
  const directory = mkdtempSync(join(tmpdir(), 'muster-store-'));
  const path = join(directory, 'muster.db');
  const raw = (text: string): void => {
    const db = new Database(path);
    try {
      db.exec(text);
    } finally {
      db.close();
    }
  };
  return {
    location: { kind: 'sqlite', path },
    async fail(store: Store) {
      raw(`create table ballast (b blob); insert into ballast values (zeroblob(${BALLAST_BYTES}))`);
      await store.transact((trx) => sql`pragma max_page_count = 1`.execute(trx));
    },
    heal: async () => raw('delete from ballast'),
    raw: async (text) => raw(text),
    drop: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

describeStore('sqlite', sqlite);

let harness: Harness;
beforeEach(async () => {
  harness = await sqlite();
});
afterEach(() => harness.drop());

const path = (): string => (harness.location.kind === 'sqlite' ? harness.location.path : '');

test('SQLite keeps a write-ahead log, which it does not flush at each commit itself', async () => {
  const store = await open(harness.location, { clock: new ManualClock(), log: silent });
  const pragma = (name: string) => store.transact((trx) => sql.raw(`pragma ${name}`).execute(trx));
  expect((await pragma('journal_mode')).rows).toEqual([{ journal_mode: 'wal' }]);
  expect((await pragma('synchronous')).rows).toEqual([{ synchronous: 1 }]);
  await store.close();
});

describe('SQLite commits are durable', () => {
  /** Of a file handle, whichever: they share it. */
  let datasync: MockInstance<FileHandle['datasync']>;
  beforeEach(async () => {
    const file = await openFile(fileURLToPath(import.meta.url));
    datasync = vi.spyOn(Object.getPrototypeOf(file), 'datasync');
    await file.close();
  });
  afterEach(() => datasync.mockRestore());

  test('a commit, a transition and a transaction are stored once the log is flushed', async () => {
    let flush: () => void = () => undefined;
    const store = await open(harness.location, { clock: new ManualClock(), log: silent });
    const work: (() => Promise<unknown>)[] = [
      () => store.commit([named('1', 'a')]),
      () => store.persist([named('2', 'b')]),
      () => store.transact((trx) => trx.deleteFrom('organizations').execute()),
    ];
    for (const each of work) {
      const asked = new Promise<void>((resolve) => {
        datasync.mockImplementationOnce(() => {
          resolve();
          return new Promise((done) => {
            flush = done;
          });
        });
      });
      let stored = false;
      const done = each().then(() => {
        stored = true;
      });
      await asked;
      await new Promise(setImmediate);
      expect(stored).toBe(false);
      flush();
      await done;
    }
    await store.close();
  });

  test('a flush that fails is not tried again, nothing is said to be stored or not, and the process is told', async () => {
    const clock = new ManualClock();
    const told: unknown[] = [];
    const refused = (error: unknown) => void told.push(error);
    const store = await open(harness.location, { clock, log: silent, refused });
    const failure = new Error('EIO: i/o error, fdatasync');
    datasync.mockRejectedValueOnce(failure);
    let answered = false;
    const commit = store.commit([named('1', 'a')]).finally(() => {
      answered = true;
    });
    commit.catch(() => undefined);
    while (store.health().ok) await new Promise(setImmediate);
    expect(told).toEqual([failure]);
    clock.advance(10_000);
    await new Promise(setImmediate);
    expect([answered, store.health().ok, datasync.mock.calls.length]).toEqual([false, false, 1]);
    const later = passing(clock, store, store.commit([named('2', 'b')]));
    await expect(later).rejects.toMatchObject({ code: 'store_unavailable' });
    await passing(clock, store, store.close());
    await expect(commit).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});

test('the read side of SQLite cannot write', async () => {
  const store = await open(harness.location, { clock: new ManualClock(), log: silent });
  await expect(store.read.deleteFrom('jobs').execute()).rejects.toThrow('readonly');
  await store.close();
});

test('SQLite is busy while another process writes, and goes on after it', async () => {
  const clock = new ManualClock();
  const store = await open(harness.location, { clock, log: silent, limits: { busyMs: 1 } });
  const other = new Database(path());
  other.exec('begin immediate');
  await expect(store.commit([named('1', 'a')])).rejects.toMatchObject({ code: 'store_unavailable' });
  other.exec('rollback');
  other.close();
  await passing(clock, store, store.commit([named('1', 'a')]));
  await store.close();
});

test('a file that is no database is refused', async () => {
  const missing = join(path(), 'nowhere', 'muster.db');
  await expect(open({ kind: 'sqlite', path: missing }, { clock: new ManualClock() })).rejects.toMatchObject({
    code: 'store_unavailable',
  });
});

test('everything that was acknowledged before kill -9 is there afterwards', async () => {
  const script = fileURLToPath(new URL('acknowledge.mjs', import.meta.url));
  const child = spawn(process.execPath, [script, path()], { stdio: ['ignore', 'pipe', 'inherit'] });
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(line);
    if (acknowledged.length === 500) child.kill('SIGKILL');
  }
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  expect(child.signalCode).toBe('SIGKILL');

  const store = await open(harness.location, { clock: new ManualClock(), log: silent });
  const rows = await store.read.selectFrom('organizations').select('id').execute();
  const stored = new Set(rows.map((row) => row.id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  await store.close();
});
