import { ManualClock } from '@muster/base';
import { type CommitReport, type Limits, open, type Store, type StoreLocation, type StoreOptions } from '@muster/store';
import { afterEach, beforeEach } from 'vitest';
import { MIGRATIONS } from '../../../platform/test/support/migrations.js';

/** What the suite needs of a database besides the store itself. */
export interface Harness {
  readonly location: StoreLocation;
  /** From now on writes of a page or more fail in a way that passes. */
  fail(store: Store): Promise<void>;
  heal(): Promise<void>;
  /** A way to the same database on which writes can be made to hang. */
  freezable(): Promise<Freezable>;
  /** Runs SQL behind the store's back. */
  raw(text: string): Promise<void>;
  /** From now on it is as if nobody had ever opened it. */
  untouched(): Promise<void>;
  drop(): Promise<void>;
}

export interface Freezable {
  readonly location: StoreLocation;
  readonly limits: Partial<Limits>;
  /** From now on writes are neither carried out nor refused. */
  freeze(): void;
  thaw(): void;
  close(): Promise<void>;
}

/** What UTF-8, and PostgreSQL, can hold of a text. */
export const wellFormed = (text: string): string =>
  Buffer.from(text, 'utf8').toString('utf8').replaceAll('\0', '\uFFFD');

/** Less than a test or a hook may take: what waits says so itself, and does not go on beside the tests that follow. */
const MOST_MS = 60_000;

/** Longer than a database takes on a machine that is busy with other tests. */
const NOTICED_MS = 1_000;

/** Waits for something to become true, not for time. */
export async function until(condition: () => boolean, mostMs = MOST_MS): Promise<void> {
  const begun = performance.now();
  while (!condition()) {
    if (performance.now() - begun > mostMs) throw new Error(`what is waited for has not come in ${mostMs} ms`);
    await new Promise(setImmediate);
  }
}

/** As `until`, of what must be asked for. */
export async function eventually(condition: () => Promise<boolean>): Promise<void> {
  const begun = performance.now();
  while (!(await condition())) {
    if (performance.now() - begun > MOST_MS) throw new Error(`what is waited for has not come in ${MOST_MS} ms`);
  }
}

/** Real time for each 100 ms of the clock, as a database that is back answers in real time only. */
const PACE_MS = 20;

/** Moves time while the store waits out an outage, until the promise is settled. */
export async function passing<T>(clock: ManualClock, store: Store, promise: Promise<T>): Promise<T> {
  let settled = false;
  const watch = (): void => {
    settled = true;
  };
  promise.then(watch, watch);
  let movedAt = performance.now();
  await until(() => {
    if (!settled && !store.health().ok && performance.now() - movedAt >= PACE_MS) {
      clock.advance(100);
      movedAt = performance.now();
    }
    return settled;
  });
  return promise;
}

/** What watches over a database keeps to the real clock: a machine that is busy for seconds is no database that hangs. */
const PATIENT = { watchMs: 60_000, stallMs: 60_000 };

export const silent = { warn: () => {}, error: () => {} };

/** What every test of the suite works with; new for each. */
export interface Suite {
  readonly harness: Harness;
  readonly clock: ManualClock;
  /** The group commits so far. */
  readonly reports: readonly CommitReport[];
  openStore(options?: Partial<StoreOptions>): Promise<Store>;
  /** A store whose database can be made to hang, and which notices soon. */
  openFreezable(): Promise<{ readonly store: Store; readonly database: Freezable }>;
  /** What is stored, in order. */
  names(store: Store): Promise<string[]>;
  positions(store: Store): Promise<number[]>;
  targets(store: Store): Promise<string[]>;
}

export function createSuite(make: () => Promise<Harness>): Suite {
  let harness: Harness | undefined;
  let clock = new ManualClock();
  const opened: Store[] = [];
  const reports: CommitReport[] = [];
  const freezables: Freezable[] = [];

  beforeEach(async () => {
    harness = await make();
    clock = new ManualClock();
    reports.length = 0;
  });

  afterEach(async () => {
    try {
      for (const database of freezables) database.thaw();
      await Promise.all(opened.splice(0).map((store) => passing(clock, store, store.close())));
      await Promise.all(freezables.splice(0).map((database) => database.close()));
    } finally {
      await harness?.drop();
    }
  });

  const current = (): Harness => {
    if (harness === undefined) throw new Error('not in a test');
    return harness;
  };
  const openAt = async (location: StoreLocation, options: Partial<StoreOptions>): Promise<Store> => {
    const observe = (report: CommitReport): void => void reports.push(report);
    const store = await open(location, { migrations: MIGRATIONS, clock, log: silent, observe, ...options });
    opened.push(store);
    return store;
  };
  return {
    get harness() {
      return current();
    },
    get clock() {
      return clock;
    },
    reports,
    openStore: (options = {}) => openAt(current().location, { ...options, limits: { ...PATIENT, ...options.limits } }),
    async openFreezable() {
      const database = await current().freezable();
      freezables.push(database);
      const limits = { watchEveryMs: 10, watchMs: NOTICED_MS, stallMs: NOTICED_MS, ...database.limits };
      return { database, store: await openAt(database.location, { limits }) };
    },
    async names(store) {
      const rows = await store.read.selectFrom('organizations').select('name').orderBy('id').execute();
      return rows.map((row) => row.name);
    },
    async positions(store) {
      const rows = await store.read.selectFrom('output_chunks').select('position').orderBy('position').execute();
      return rows.map((row) => row.position);
    },
    async targets(store) {
      const rows = await store.read.selectFrom('audit').select('target').orderBy('id').execute();
      return rows.map((row) => row.target);
    },
  };
}
