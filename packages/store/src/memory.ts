import type { Clock } from '@muster/base';
import Database from 'better-sqlite3';
import {
  type CompiledQuery,
  type Dialect,
  Kysely,
  SqliteAdapter,
  SqliteDialect,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { GroupCommit } from './group-commit.js';
import { LocalHints } from './hints/local.js';
import type { Lane } from './lane.js';
import { LIMITS } from './limits.js';
import type { Migrations } from './migrations/types.js';
import type { Schema } from './schema.js';
import { migrated } from './sqlite.js';
import { SqliteConnection } from './sqlite-connection.js';
import { SqliteLane } from './sqlite-lane.js';
import { sqliteReads } from './sqlite-reads.js';
import { writerHere } from './sqlite-writer.js';
import type { Store, StoreOptions } from './types.js';

/** A database in memory that outlives its stores, as a disk outlives the processes that use it. For the simulator. */
export interface MemoryDatabase {
  /** What is committed, without a store. */
  readonly read: Kysely<Schema>;
  /**
   * A store as one process has it. `faults` puts something between it and the database; `answered` is waited for before it is told
   * what it has read.
   */
  connect(options: StoreOptions, faults?: (lane: Lane) => Lane, answered?: () => Promise<void>): Store;
  close(): void;
}

/** Migrating takes longer than a short simulation: it is done once, and every database begins as a copy. */
const templates = new WeakMap<readonly Migrations[], Buffer>();

/** Memory is not damaged; it would be a defect of ours. */
function damaged(error: Error): never {
  throw error;
}

async function migratedImage(now: number, migrations: readonly Migrations[]): Promise<Buffer> {
  const db = new Database(':memory:');
  await migrated(db, now, migrations);
  const image = db.serialize();
  db.close();
  return image;
}

/** @param migrations Of the packages whose tables it has: the same list each time. */
export async function openMemory(clock: Clock, migrations: readonly Migrations[]): Promise<MemoryDatabase> {
  const template = templates.get(migrations) ?? (await migratedImage(clock.now(), migrations));
  templates.set(migrations, template);
  const db = new Database(template);
  const read = new Kysely<Schema>({ dialect: new SqliteDialect({ database: sqliteReads(db, damaged) }) });
  const hints = new LocalHints(console);
  return {
    read,
    connect(options, faults = (lane) => lane, answered) {
      const limits = { ...LIMITS, ...options.limits };
      const { clock, log = console, observe = () => {}, refused = () => {} } = options;
      const lane = new SqliteLane(writerHere(new SqliteConnection(db)), limits, clock, refused);
      // The database stays when the process goes.
      const commits = new GroupCommit(faults(keptOpen(lane)), {
        clock,
        databaseClock: clock,
        limits,
        log,
        observe,
        refused,
      });
      return {
        kind: 'sqlite',
        read: answered === undefined ? read : new Kysely<Schema>({ dialect: answeredLater(read, answered) }),
        hints,
        commit: (writes, stored) => commits.commit(writes, stored),
        persist: (writes) => commits.persist(writes),
        transact: (work) => commits.transact(work),
        health: () => commits.health(),
        close: () => commits.close(),
      };
    },
    close: () => db.close(),
  };
}

function keptOpen(lane: Lane): Lane {
  return {
    write: (id, batch) => lane.write(id, batch),
    transact: (id, work) => lane.transact(id, work),
    outcome: (id) => lane.outcome(id),
    probe: (id) => lane.probe(id),
    close: async () => undefined,
  };
}

/** Reads of several processes, which do not wait for each other's answers. */
function answeredLater(read: Kysely<Schema>, answered: () => Promise<void>): Dialect {
  const connection = {
    async executeQuery<R>(query: CompiledQuery) {
      const result = await read.executeQuery<R>(query as CompiledQuery<R>);
      await answered();
      return result;
    },
    streamQuery: (): never => {
      throw new Error('nothing is read bit by bit here');
    },
  };
  const nothing = async (): Promise<void> => undefined;
  const refused = (): Promise<never> => Promise.reject(new Error('it is for reads only'));
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => ({
      init: nothing,
      acquireConnection: async () => connection,
      beginTransaction: refused,
      commitTransaction: refused,
      rollbackTransaction: refused,
      releaseConnection: nothing,
      destroy: nothing,
    }),
  };
}
