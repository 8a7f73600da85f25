import {
  type Attributes,
  attributesOf,
  type Condition,
  compile,
  conjunction,
  equalTo,
  parseSelector,
  replaceEqualities,
  SelectorError,
} from '@muster/selector';
import { sql } from 'kysely';
import { MusterError } from '../errors.js';
import type { JobRow } from '../repository/job-row.js';
import { echo, refused } from '../request/refusal.js';
import { FOREIGN_STATUSES, STATUSES } from '../status.js';
import type { Sql } from './conditions.js';

type Column = keyof JobRow & string;

interface Known {
  readonly column: Column;
  /** As a selector compares it, when that is not as it is stored. */
  readonly shown?: (value: number) => number | boolean;
  /** The database may compare it: as text it is what it is. */
  readonly text?: true;
}

const text = (column: Column): Known => ({ column, text: true });
const on = (column: Column): Known => ({ column, shown: (value) => value === 1 });

/** What selectors of jobs speak of. Times are milliseconds since the epoch. */
const ATTRIBUTES: Readonly<Record<string, Known>> = {
  id: text('uuid'),
  name: text('name'),
  owner: text('owner'),
  status: text('status'),
  appId: text('app_id'),
  app: text('app_id'),
  systemId: text('system_id'),
  system: text('system_id'),
  condition: text('condition'),
  tenantQueue: text('queue'),
  archiveSystem: text('archive_system'),
  archivePath: text('archive_path'),
  remoteQueue: text('remote_queue'),
  remoteJobId: text('remote_job_id'),
  remoteOutcome: text('remote_outcome'),
  lastStatusMessage: text('last_message'),
  workPath: text('work_path'),
  archive: on('archive'),
  visible: on('visible'),
  nodeCount: { column: 'node_count' },
  processorsPerNode: { column: 'processors_per_node' },
  memoryPerNode: { column: 'memory_mb', shown: (value) => value / 1024 },
  maxHours: { column: 'max_seconds', shown: (value) => value / 3600 },
  exitCode: { column: 'exit_code' },
  blockedCount: { column: 'blocked_count' },
  submitRetries: { column: 'submit_retries' },
  accepted: { column: 'accepted' },
  created: { column: 'created' },
  ended: { column: 'ended' },
  lastUpdated: { column: 'last_updated' },
  remoteSubmitted: { column: 'remote_submitted' },
  remoteStarted: { column: 'remote_started' },
  remoteEnded: { column: 'remote_ended' },
};

export const SELECTOR_ATTRIBUTES: readonly string[] = Object.keys(ATTRIBUTES);

/** A selector of jobs, understood. */
export interface JobSelector {
  /** What the database can tell of it. */
  readonly narrowing: readonly Sql[];
  /** null: that is all of it. */
  readonly look: { readonly columns: readonly Column[]; readonly matches: (row: Partial<JobRow>) => boolean } | null;
  /** Hidden jobs are asked for. */
  readonly hidden: boolean;
}

/** `status:BLOCKED AND owner:jdoe`. @throws MusterError `invalid_selector`, `job_invalid` */
export function readSelector(written: string): JobSelector {
  const expression = withStatuses(parsed(written));
  const names = [...attributesOf(expression)];
  const known = names.map((name) => [name, attribute(name)] as const);
  const conditions = conjunction(expression);
  const narrowing = conditions.map(inDatabase);
  const whole = narrowing.every((one) => one !== null);
  const matches = compile(expression);
  return {
    narrowing: narrowing.filter((one) => one !== null),
    look: whole
      ? null
      : {
          columns: [...new Set(known.map(([, { column }]) => column))],
          matches: (row) =>
            matches(Object.fromEntries(known.map(([name, one]) => [name, shownOf(one, row)])) as Attributes),
        },
    hidden: names.includes('visible'),
  };
}

function parsed(written: string): Condition {
  try {
    return parseSelector(written, { sugar: true });
  } catch (error) {
    if (!(error instanceof SelectorError)) throw error;
    const { position, reason, hint } = error;
    throw new MusterError('invalid_selector', { position, reason, hint }, { cause: error });
  }
}

function attribute(name: string): Known {
  const known = Object.hasOwn(ATTRIBUTES, name) ? ATTRIBUTES[name] : undefined;
  if (known !== undefined) return known;
  throw refused(
    'ALOE_INVALID_PARAMETER',
    'where',
    `jobs have no '${echo(name)}', but ${SELECTOR_ATTRIBUTES.join(', ')}`,
  );
}

const KNOWN_STATUSES: ReadonlySet<unknown> = new Set([...STATUSES, ...FOREIGN_STATUSES]);

/** A typing error must not look like an answer. */
function withStatuses(expression: Condition): Condition {
  return replaceEqualities(expression, (name, values) => {
    const wrong = name === 'status' ? values.find((value) => !KNOWN_STATUSES.has(value)) : undefined;
    if (wrong === undefined) return name;
    const reason = `'${echo(String(wrong))}' is no status: one of ${STATUSES.join(', ')}`;
    throw refused('ALOE_INVALID_PARAMETER', 'where', reason);
  });
}

/** Text that may be compared as a number is left to the selector itself. */
const NUMBER_LIKE = /^\s*[+-]?[\d.]/;

function inDatabase(condition: Condition): Sql | null {
  const values = equalTo(condition);
  const [name, another] = [...attributesOf(condition)];
  if (values === null || name === undefined || another !== undefined) return null;
  const { column, text: asText } = attribute(name);
  const texts = values.filter((value) => typeof value === 'string' && !NUMBER_LIKE.test(value));
  if (asText !== true || texts.length !== values.length || texts.length === 0) return null;
  return sql`${sql.ref(`jobs.${column}`)} in (${sql.join(texts)})`;
}

function shownOf({ column, shown }: Known, row: Partial<JobRow>): string | number | boolean | null {
  const value = row[column] ?? null;
  return shown !== undefined && typeof value === 'number' ? shown(value) : value;
}
