import { MAX_SECONDS, MAX_START_RATE } from '../limits.js';
import type { Share } from '../types.js';
import { type Body, has, invalid, isNumber } from './fields.js';
import { parseShare } from './shares.js';

/** The "possible extensions" of Push Jobs §5.3, and `max_failures`. Null means: not given. Times are seconds. */
export interface Extensions {
  readonly nodeTimeout: number | null;
  readonly votingTimeout: number | null;
  readonly ackTimeout: number | null;
  readonly concurrency: Share | null;
  /** Nodes per second. */
  readonly startRate: number | null;
  readonly maxFailures: Share | null;
}

export function readExtensions(body: Body): Extensions {
  return {
    nodeTimeout: readSeconds(body, 'node_timeout'),
    votingTimeout: readSeconds(body, 'voting_timeout'),
    ackTimeout: readSeconds(body, 'ack_timeout'),
    concurrency: readLimit(body, 'concurrency', { zero: false }),
    startRate: readRate(body),
    maxFailures: readLimit(body, 'max_failures', { zero: true }),
  };
}

function readSeconds(body: Body, key: string): number | null {
  if (!has(body, key)) return null;
  const value = body[key];
  if (!isNumber(value) || value <= 0 || value > MAX_SECONDS) {
    throw invalid(key, `must be a number of seconds above 0 and up to ${MAX_SECONDS}`);
  }
  return value;
}

function readRate(body: Body): number | null {
  if (!has(body, 'start_rate')) return null;
  const value = body.start_rate;
  if (!isNumber(value) || value <= 0 || value > MAX_START_RATE) {
    throw invalid('start_rate', `must be a number of nodes per second above 0 and up to ${MAX_START_RATE}`);
  }
  return value;
}

function readLimit(body: Body, key: string, allow: { readonly zero: boolean }): Share | null {
  if (!has(body, key)) return null;
  const share = parseShare(body[key]);
  if (share === undefined) throw invalid(key, 'must be a count, or a percentage such as "25%"');
  if (typeof share === 'string') throw invalid(key, share);
  const amount = 'count' in share ? share.count : share.percent;
  if (!allow.zero && amount === 0) throw invalid(key, 'must not be 0');
  return share;
}
