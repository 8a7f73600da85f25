import type { Static } from 'typebox';
import { MAX_COMMAND_BYTES, MAX_NODE_NAME_BYTES } from '../limits.js';
import { HELD, type JobCursor, type JobFilter } from '../repository/reads.js';
import type { JobRow } from '../repository/writes.js';
import { checkText, invalid } from '../request/fields.js';
import type { PushJobStatus } from '../types.js';
import type { ListQuery } from './schemas.js';

/** Query parameters of lists, read into filters. */

const JOB_STATUSES: ReadonlySet<string> = new Set<PushJobStatus | typeof HELD>([
  'new',
  'voting',
  'running',
  HELD,
  'complete',
  'quorum_failed',
  'timed_out',
  'aborted',
  'crashed',
]);

const MAX_WORDS = 64;

export function wordsOf(field: string, value: string | readonly string[] | undefined): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const words = (typeof value === 'string' ? [value] : value)
    .flatMap((part) => part.split(','))
    .map((word) => word.trim())
    .filter((word) => word !== '');
  if (words.length === 0 || words.length > MAX_WORDS) throw invalid(field, `must name 1 to ${MAX_WORDS} statuses`);
  return words;
}

/** The databases do not take every text. */
const TEXTS = [
  ['command', MAX_COMMAND_BYTES],
  ['requester', MAX_NODE_NAME_BYTES],
  ['node', MAX_NODE_NAME_BYTES],
] as const;

export function readJobFilter(query: Static<typeof ListQuery>): JobFilter {
  const statuses = wordsOf('status', query.status);
  const unknown = statuses?.find((status) => !JOB_STATUSES.has(status));
  if (unknown !== undefined) {
    throw invalid('status', `'${unknown.slice(0, 40)}' is none of ${[...JOB_STATUSES].join(', ')}`);
  }
  for (const [field, limit] of TEXTS) {
    const text = query[field];
    if (text !== undefined) checkText(field, text, limit);
  }
  const createdAfter = readTime('created_after', query.created_after);
  const createdBefore = readTime('created_before', query.created_before);
  return {
    ...(statuses === undefined ? {} : { statuses }),
    ...(query.command === undefined ? {} : { command: query.command }),
    ...(query.requester === undefined ? {} : { requester: query.requester }),
    ...(query.node === undefined ? {} : { node: query.node }),
    ...(createdAfter === undefined ? {} : { createdAfter }),
    ...(createdBefore === undefined ? {} : { createdBefore }),
  };
}

function readTime(field: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = Date.parse(text);
  if (Number.isNaN(ms)) throw invalid(field, 'must be a time, such as 2012-09-16T12:00:00Z');
  return ms;
}

const CURSOR = /^(\d{1,15})-([0-9a-f]{32})$/;

export function readCursor(text: string | undefined): JobCursor | undefined {
  if (text === undefined) return undefined;
  const [, createdAt, id] = CURSOR.exec(text) ?? [];
  if (createdAt === undefined || id === undefined) throw invalid('cursor', 'must come from the Link header');
  return { createdAt: Number(createdAt), id };
}

export function cursorOf(row: JobRow): string {
  return `${row.created_at}-${row.id}`;
}

/** The `Link` header (RFC 8288) of the page after this one. */
export function nextLink(url: string, parameter: string, value: string): string {
  const [path = '', search = ''] = url.split('?', 2);
  const query = new URLSearchParams(search);
  query.set(parameter, value);
  return `<${path}?${query.toString()}>; rel="next"`;
}
