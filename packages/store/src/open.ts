import { randomBytes } from 'node:crypto';
import { GroupCommit } from './group-commit.js';
import { LIMITS } from './limits.js';
import { openPostgres } from './postgres.js';
import { openSqlite } from './sqlite.js';
import type { Store, StoreLocation, StoreOptions } from './types.js';

/**
 * Opens the database, brings its schema up to date and starts the write lane.
 *
 * @throws MusterError `schema_too_new`, `database_in_use`, `database_unusable`
 */
export async function open(location: StoreLocation, options: StoreOptions): Promise<Store> {
  const limits = { ...LIMITS, ...options.limits };
  const { clock, log = console, observe = () => {}, refused = () => {} } = options;
  const { random = randomBytes, exclusive = true } = options;
  const { lane, read } =
    location.kind === 'sqlite'
      ? await openSqlite(location.path, limits, clock, refused)
      : await openPostgres(location.url, { limits, clock, log, random, exclusive });
  const commits = new GroupCommit(lane, { clock, limits, log, observe, refused });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    try {
      await commits.close();
    } finally {
      await read.destroy();
    }
  };
  return {
    kind: location.kind,
    read,
    commit: (writes, stored) => commits.commit(writes, stored),
    persist: (writes) => commits.persist(writes),
    transact: (work) => commits.transact(work),
    health: () => commits.health(),
    close: () => {
      closing ??= close();
      return closing;
    },
  };
}
