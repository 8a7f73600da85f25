import { randomBytes } from 'node:crypto';
import { systemClock } from '@muster/base';
import { GroupCommit } from './group-commit.js';
import { LIMITS } from './limits.js';
import type { Migrations } from './migrations/types.js';
import { openSqlite } from './sqlite.js';
import type { Store, StoreLocation, StoreOptions } from './types.js';

export interface OpenOptions extends StoreOptions {
  /** Of the packages whose tables the database has, the lower ones first; those of the store come before them. */
  readonly migrations: readonly Migrations[];
}

/**
 * Opens the database, brings its schema up to date and starts the write lane. The driver of PostgreSQL is loaded where it is used.
 *
 * @throws MusterError `schema_too_new`, `database_in_use`, `database_unusable`, `database_lost`
 */
export async function open(location: StoreLocation, options: OpenOptions): Promise<Store> {
  const limits = { ...LIMITS, ...options.limits };
  const { clock, log = console, observe = () => {}, refused = () => {} } = options;
  const { random = randomBytes, exclusive = true, cluster, established = false, migrations } = options;
  const own = { limits, clock, log, migrations, exclusive };
  const { lane, read, watch, hints } =
    location.kind === 'sqlite'
      ? await openSqlite(location.path, { ...own, established, lost: refused })
      : await (await import('./postgres.js')).openPostgres(location.url, { ...own, random, cluster });
  const stored = (): void => watching.stored();
  const commits = new GroupCommit(lane, { clock, databaseClock: systemClock, limits, log, observe, refused, stored });
  const watching = watch(commits);
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    try {
      await commits.close();
    } finally {
      await Promise.all([watching.stop(), hints.close(), read.destroy()]);
    }
  };
  return {
    kind: location.kind,
    read,
    hints,
    commit: (writes, stored) => commits.commit(writes, stored),
    persist: (writes) => commits.persist(writes),
    transact: (work) => commits.transact(work),
    health() {
      const health = commits.health();
      const trouble = watching.trouble();
      return health.ok && trouble !== null ? { ok: false, ...trouble } : health;
    },
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
