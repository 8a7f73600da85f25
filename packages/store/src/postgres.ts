import type { Clock } from '@muster/base';
import { Kysely, PostgresDialect } from 'kysely';
import { MusterError } from './errors.js';
import { PostgresHints } from './hints/postgres.js';
import type { Limits } from './limits.js';
import type { Migrations } from './migrations/types.js';
import type { Opened } from './opened.js';
import { PostgresLane } from './postgres-lane.js';
import { PostgresReaders } from './postgres-readers.js';
import { PostgresWatch } from './postgres-watch.js';
import type { Schema } from './schema.js';
import type { ClusterAccess, StoreLog } from './types.js';
import { unusablePostgres } from './unusable-postgres.js';

export interface PostgresOptions {
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: StoreLog;
  readonly random: (bytes: number) => Uint8Array;
  readonly exclusive: boolean;
  readonly cluster?: ClusterAccess | undefined;
  readonly migrations: readonly Migrations[];
}

/** Opens and migrates the database at `url`. @throws MusterError `database_unusable` and as `PostgresLane.open` */
export async function openPostgres(url: string, options: PostgresOptions): Promise<Opened> {
  const { random, exclusive, cluster, limits, clock, log, migrations } = options;
  const name = Buffer.from(random(16)).toString('hex');
  try {
    const lane = await PostgresLane.open({ url, name, exclusive, cluster, migrations, limits, clock });
    const readers = new PostgresReaders(url, limits, log);
    const read = new Kysely<Schema>({ dialect: new PostgresDialect({ pool: readers }) });
    return {
      lane,
      read,
      hints: new PostgresHints(url, limits, log),
      watch(commits) {
        return new PostgresWatch({
          url,
          name: `${name}0`,
          clock,
          limits,
          log,
          hung(reason) {
            readers.hang(reason);
            commits.hang(reason);
            lane.cut();
          },
          answers() {
            readers.resume();
            commits.resume();
          },
        });
      },
    };
  } catch (error) {
    throw error instanceof MusterError ? error : unusablePostgres(url, error);
  }
}
