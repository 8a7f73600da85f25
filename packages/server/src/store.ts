import { join } from 'node:path';
import type { Clock } from '@muster/base';
import type { RandomBytes } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { Metrics } from '@muster/platform/metrics';
import { type ClusterAccess, open, type Store } from '@muster/store';
import type { Logger } from 'pino';
import { DECLARED } from './compose.js';
import { hasServerKey } from './data-dir.js';
import type { Fail } from './failing.js';

export interface StoreParts {
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly fail: Fail;
  /** No other server uses the database. Workers beside a server do. */
  readonly exclusive: boolean;
  /** It shares the database with the other servers of its cluster, and leads them. */
  readonly cluster?: ClusterAccess | undefined;
}

/** The database of `database_url`, or SQLite in the data directory. */
export function openStore(config: ServerConfig, parts: StoreParts): Promise<Store> {
  const { clock, logger, random, metrics, fail, exclusive, cluster } = parts;
  const commits = metrics.histogram(
    'muster_store_commit_seconds',
    'Group commits',
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1],
  );
  const rows = metrics.counter('muster_store_rows_total', 'Rows stored by group commits');
  const url = config.database_url;
  const location =
    url === undefined
      ? ({ kind: 'sqlite', path: join(config.data_dir, 'muster.db') } as const)
      : ({ kind: 'postgres', url } as const);
  return open(location, {
    migrations: DECLARED.migrations,
    clock,
    random,
    exclusive,
    ...(cluster && { cluster }),
    established: hasServerKey(config.data_dir),
    log: logger,
    observe: (report) => {
      commits.observe(report.durationMs / 1000);
      rows.inc(report.rows);
    },
    refused: (error) => fail('the database refuses a change of state for good', error),
  });
}
