import { MAX_BATCH_SIZES, MAX_SECONDS, MAX_START_RATE } from '../limits.js';
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
  /** Sizes of batches, the last one again and again; `rest`: all that are left. */
  readonly batches: readonly (Share | 'rest')[] | null;
  /** Between two batches; null: none. */
  readonly batchPause: number | null;
  /** After each batch somebody says to go on. */
  readonly batchConfirm: boolean;
  /** What too many failures do: end what was not started, hold it until somebody says to go on, or abort everything. */
  readonly onFailures: 'end' | 'hold' | 'abort';
  /** What becomes of nodes that are busy: refused, or waited for. */
  readonly whenBusy: 'skip' | 'wait';
  /** How long they are waited for. */
  readonly waitTimeout: number | null;
}

export function readExtensions(body: Body): Extensions {
  return {
    nodeTimeout: readSeconds(body, 'node_timeout'),
    votingTimeout: readSeconds(body, 'voting_timeout'),
    ackTimeout: readSeconds(body, 'ack_timeout'),
    concurrency: readLimit(body, 'concurrency', { zero: false }),
    startRate: readRate(body),
    maxFailures: readLimit(body, 'max_failures', { zero: true }),
    ...readBatches(body),
    onFailures: readOnFailures(body),
    ...readWaiting(body),
  };
}

function readBatches(body: Body): Pick<Extensions, 'batches' | 'batchPause' | 'batchConfirm'> {
  const batches = has(body, 'batches') ? readSizes(body.batches) : null;
  const batchPause = readSeconds(body, 'batch_pause');
  const batchConfirm = has(body, 'batch_confirm') ? body.batch_confirm : false;
  if (typeof batchConfirm !== 'boolean') throw invalid('batch_confirm', 'must be true or false');
  if (batches === null && batchPause !== null) throw invalid('batch_pause', 'goes with batches');
  if (batches === null && batchConfirm) throw invalid('batch_confirm', 'goes with batches');
  if (batchConfirm && batchPause !== null) throw invalid('batch_pause', 'does not go with batch_confirm');
  return { batches, batchPause, batchConfirm };
}

function readSizes(value: unknown): readonly (Share | 'rest')[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_BATCH_SIZES) {
    throw invalid('batches', `must be a list of 1 to ${MAX_BATCH_SIZES} sizes`);
  }
  return value.map((size: unknown, index) => {
    if (size === 'rest' && index === value.length - 1) return size;
    const share = parseShare(size);
    if (share === undefined) {
      throw invalid(`batches.${index}`, 'must be a count, a percentage such as "25%", or, as the last one, "rest"');
    }
    if (typeof share === 'string') throw invalid(`batches.${index}`, share);
    if (('count' in share ? share.count : share.percent) === 0) throw invalid(`batches.${index}`, 'must not be 0');
    return share;
  });
}

function readOnFailures(body: Body): Extensions['onFailures'] {
  if (!has(body, 'on_failures')) return 'end';
  const given = body.on_failures;
  if (given !== 'end' && given !== 'hold' && given !== 'abort') {
    throw invalid('on_failures', 'must be "end", "hold" or "abort"');
  }
  if (!has(body, 'max_failures')) throw invalid('on_failures', 'goes with max_failures');
  return given;
}

function readWhenBusy(body: Body): Extensions['whenBusy'] {
  const given = has(body, 'when_busy') ? body.when_busy : 'skip';
  if (given === 'skip' || given === 'wait') return given;
  throw invalid('when_busy', 'must be "skip" or "wait"');
}

function readWaiting(body: Body): Pick<Extensions, 'whenBusy' | 'waitTimeout'> {
  const given = readWhenBusy(body);
  const waitTimeout = readSeconds(body, 'wait_timeout');
  if (waitTimeout !== null && given === 'skip') throw invalid('wait_timeout', 'goes with "when_busy": "wait"');
  return { whenBusy: given, waitTimeout };
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
