import { attributesOf, type Condition, compile, conjunction, equalTo, type Predicate } from '@muster/selector';
import { MusterError } from '../errors.js';
import { isId } from '../ids.js';
import type { StatusRange } from '../repository/reads.js';
import { STATUS, STATUS_NAMES, type StatusName } from '../status.js';
import type { SearchedQueue } from './attributes.js';

/** What of a search an index answers. Null: all of them. */
export interface Narrowing {
  readonly queues: readonly string[] | null;
  readonly statuses: readonly StatusRange[] | null;
  readonly ids: readonly string[] | null;
}

const RANGES: Readonly<Record<StatusName, StatusRange>> = {
  held: { from: Number.MIN_SAFE_INTEGER, to: STATUS.held },
  orphaned: only(STATUS.orphaned),
  cancelled: only(STATUS.cancelled),
  blocked: only(STATUS.blocked),
  terminated: only(STATUS.terminated),
  queued: only(STATUS.queued),
  claimed: only(STATUS.claimed),
  running: only(STATUS.running),
  succeeded: only(STATUS.succeeded),
  failed: { from: STATUS.failed, to: Number.MAX_SAFE_INTEGER },
};

function only(status: number): StatusRange {
  return { from: status, to: status };
}

/** A queue that is gone and left its tasks. */
const GONE: Omit<SearchedQueue, 'name' | 'plugin'> & { name: null; plugin: null } = {
  id: '',
  name: null,
  plugin: null,
};

/**
 * Each condition that all tasks must fulfil is tried on what there is of queues and statuses: these are few.
 * @throws MusterError `not_found` for a queue that there is not.
 */
export function narrow(expression: Condition, queues: () => readonly SearchedQueue[]): Narrowing {
  let ofQueues: readonly string[] | null = null;
  let statuses: readonly StatusRange[] | null = null;
  let ids: readonly string[] | null = null;
  for (const condition of conjunction(expression)) {
    const found = narrowOne(condition, queues);
    if (found.queues !== null) ofQueues = both(ofQueues, found.queues);
    else if (found.statuses !== null) statuses = bothRanges(statuses, found.statuses);
    else if (found.ids !== null) ids = both(ids, found.ids);
  }
  return { queues: ofQueues, statuses, ids };
}

const NOTHING: Narrowing = { queues: null, statuses: null, ids: null };

function narrowOne(condition: Condition, queues: () => readonly SearchedQueue[]): Narrowing {
  const names = attributesOf(condition);
  if (consistsOf(names, ['queue', 'queue_id', 'plugin'])) {
    return { ...NOTHING, queues: queuesThat(condition, compile(condition), queues()) };
  }
  if (consistsOf(names, ['status'])) {
    const matches = compile(condition);
    return { ...NOTHING, statuses: STATUS_NAMES.filter((status) => matches({ status })).map((name) => RANGES[name]) };
  }
  const values = equalTo(condition);
  if (values === null) return NOTHING;
  if (consistsOf(names, ['code'])) {
    const codes = values.map(Number).filter((code) => Number.isSafeInteger(code));
    return { ...NOTHING, statuses: codes.map(only) };
  }
  if (consistsOf(names, ['id'])) {
    return { ...NOTHING, ids: values.flatMap((id) => (typeof id === 'string' && isId(id) ? [id] : [])) };
  }
  return NOTHING;
}

function consistsOf(names: ReadonlySet<string>, of: readonly string[]): boolean {
  return names.size > 0 && [...names].every((name) => of.includes(name));
}

/** Null: also tasks whose queue is gone may be meant. */
function queuesThat(condition: Condition, matches: Predicate, queues: readonly SearchedQueue[]): string[] | null {
  const told = ({ id, name, plugin }: SearchedQueue | typeof GONE) => matches({ queue: name, queue_id: id, plugin });
  if (told(GONE)) return null;
  const found = queues.filter(told).map(({ id }) => id);
  if (found.length > 0) return found;
  const [asked] = equalTo(condition) ?? [];
  const [attribute] = attributesOf(condition);
  // Its tasks may be there though it is not.
  if (attribute === 'queue_id') return typeof asked === 'string' && isId(asked) ? [asked] : null;
  if (attribute === 'queue' && asked !== undefined) {
    throw new MusterError('not_found', { kind: 'queue', name: String(asked).slice(0, 80) });
  }
  return [];
}

function both(one: readonly string[] | null, other: readonly string[]): readonly string[] {
  if (one === null) return other;
  const names = new Set(other);
  return one.filter((name) => names.has(name));
}

function bothRanges(one: readonly StatusRange[] | null, other: readonly StatusRange[]): readonly StatusRange[] {
  if (one === null) return other;
  return one.flatMap((a) =>
    other.flatMap((b) => {
      const range = { from: Math.max(a.from, b.from), to: Math.min(a.to, b.to) };
      return range.from <= range.to ? [range] : [];
    }),
  );
}
