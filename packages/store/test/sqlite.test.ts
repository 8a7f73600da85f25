import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { ManualClock } from '@muster/base';
import { LIMITS, open, type Store } from '@muster/store';
import Database from 'better-sqlite3';
import { sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { MIGRATIONS } from '../../platform/test/support/migrations.js';
import { SqliteLane } from '../src/sqlite-lane.js';
import type { SqliteWriter } from '../src/sqlite-writer.js';
import { describeStore } from './conformance/index.js';
import { named, output as outputs } from './conformance/rows.js';
import { type Harness, passing, silent, until } from './conformance/suite.js';

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
    /** Another process is at the same file and does not go on. */
    async freezable() {
      const other = new Database(path);
      return {
        location: { kind: 'sqlite', path },
        limits: { busyMs: 600_000 },
        freeze: () => void other.exec('begin immediate'),
        thaw: () => void (other.inTransaction && other.exec('rollback')),
        close: async () => void other.close(),
      };
    },
    raw: async (text) => raw(text),
    untouched: async () => undefined,
    drop: async () => rmSync(directory, { recursive: true, force: true }),
  };
}

describeStore('sqlite', sqlite);

let harness: Harness;
beforeEach(async () => {
  harness = await sqlite();
});
afterEach(() => harness.drop());

const output = (position: number, data: Uint8Array) =>
  outputs({ subject: 'j', part: 'n', stream: 'stdout', position, data });

const path = (): string => (harness.location.kind === 'sqlite' ? harness.location.path : '');

test('SQLite keeps a write-ahead log, and flushes it at each commit', async () => {
  const store = await open(harness.location, { migrations: MIGRATIONS, clock: new ManualClock(), log: silent });
  const pragma = (name: string) => store.transact((trx) => sql.raw(`pragma ${name}`).execute(trx));
  expect((await pragma('journal_mode')).rows).toEqual([{ journal_mode: 'wal' }]);
  expect((await pragma('synchronous')).rows).toEqual([{ synchronous: 2 }]);
  await store.close();
});

test('a flush that fails is not tried again, nothing is said to be stored or not, and the process is told', async () => {
  const clock = new ManualClock();
  const told: unknown[] = [];
  const failure = new Database.SqliteError('disk I/O error', 'SQLITE_IOERR_FSYNC');
  const write = vi.fn(async () => {
    throw failure;
  });
  const writer: SqliteWriter = { write, finish: write, query: write, rollback: write, close: write };
  const lane = new SqliteLane(writer, LIMITS, clock, (error) => void told.push(error));
  expect(await lane.write(1, [])).toEqual({ kind: 'unknown', error: failure, forGood: true });
  expect(await lane.outcome()).toEqual({ kind: 'unknown', error: failure, forGood: true });
  expect(told).toEqual([failure]);
  expect(write).toHaveBeenCalledTimes(1);
});

describe('the thread that writes', () => {
  /** The thread of the next store of this test; those of others go on beside it. */
  let thread: Promise<Worker>;
  /** Ends instead of what it is asked for next. */
  let dying: Worker | null;
  beforeEach(() => {
    dying = null;
    const { postMessage } = Worker.prototype;
    thread = new Promise((resolve) => {
      vi.spyOn(Worker.prototype, 'postMessage').mockImplementation(function (this: Worker, message, ...more) {
        if (message.kind === 'open' && message.settings.path === path()) resolve(this);
        if (this === dying) void this.terminate();
        else postMessage.call(this, message, ...more);
      });
    });
  });
  afterEach(() => {
    vi.restoreAllMocks();
  });

  test('serves the next store when its own has closed', async () => {
    const store = await open(harness.location, { migrations: MIGRATIONS, clock: new ManualClock(), log: silent });
    await store.commit([named('1', 'a')]);
    await store.close();
    const first = await thread;
    const post = vi.mocked(first.postMessage);
    post.mockClear();
    const next = await open(harness.location, { migrations: MIGRATIONS, clock: new ManualClock(), log: silent });
    await next.commit([named('2', 'b')]);
    expect(post.mock.contexts).toContain(first);
    const { rows } = await sql<{ id: string }>`select id from organizations order by id`.execute(next.read);
    expect(rows.map(({ id }) => id)).toEqual(['1', '2']);
    await next.close();
  });

  test('without a store keeps no process alive', async () => {
    const script = fileURLToPath(new URL('open-and-close.mjs', import.meta.url));
    const child = spawn(process.execPath, [script, path()], { stdio: 'inherit' });
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('that ends by itself leaves nothing said to be stored or not, and the process is told', async () => {
    const clock = new ManualClock();
    const told: unknown[] = [];
    const refused = (error: unknown) => void told.push(error);
    const store = await open(harness.location, { migrations: MIGRATIONS, clock, log: silent, refused });
    await store.commit([named('1', 'a')]);
    dying = await thread;
    let answered = false;
    const commit = store.commit([named('2', 'b')]).finally(() => {
      answered = true;
    });
    commit.catch(() => undefined);
    await until(() => !store.health().ok);
    expect(told).toMatchObject([{ message: expect.stringContaining('the thread that writes to the database') }]);
    clock.advance(10_000);
    await new Promise(setImmediate);
    expect([answered, store.health().ok]).toEqual([false, false]);
    const later = passing(clock, store, store.commit([named('3', 'c')]));
    await expect(later).rejects.toMatchObject({ code: 'store_unavailable' });
    const kept = store.persist([named('4', 'd')]);
    kept.catch(() => undefined);
    // No time passes: nobody will ever answer.
    await store.close();
    await expect(commit).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(kept).rejects.toMatchObject({ code: 'store_unavailable' });
  });

  test('takes bytes without changing those that are given, however they lie in memory', async () => {
    const store = await open(harness.location, { migrations: MIGRATIONS, clock: new ManualClock(), log: silent });
    const whole = Buffer.allocUnsafeSlow(4).fill('abcd');
    const part = Buffer.from('-middle-').subarray(1, 7);
    await store.commit([output(1, whole), output(2, part)]);
    expect([whole.toString(), part.toString()]).toEqual(['abcd', 'middle']);
    const rows = await store.read.selectFrom('output_chunks').select('data').orderBy('position').execute();
    expect(rows.map(({ data }) => Buffer.from(data).toString())).toEqual(['abcd', 'middle']);
    await store.close();
  });
});

test('the read side of SQLite cannot write', async () => {
  const store = await open(harness.location, { migrations: MIGRATIONS, clock: new ManualClock(), log: silent });
  await expect(store.read.deleteFrom('push_jobs').execute()).rejects.toThrow('readonly');
  await store.close();
});

test('SQLite is busy while another process writes, and goes on after it', async () => {
  const clock = new ManualClock();
  const store = await open(harness.location, { migrations: MIGRATIONS, clock, log: silent, limits: { busyMs: 1 } });
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
  await expect(
    open({ kind: 'sqlite', path: missing }, { migrations: MIGRATIONS, clock: new ManualClock() }),
  ).rejects.toMatchObject({
    code: 'database_unusable',
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

  const store = await open(harness.location, { migrations: MIGRATIONS, clock: new ManualClock(), log: silent });
  const rows = await store.read.selectFrom('organizations').select('id').execute();
  const stored = new Set(rows.map((row) => row.id));
  expect(acknowledged.filter((id) => !stored.has(id))).toEqual([]);
  await store.close();
});
