import type { Job } from '../../api.js';
import { formatDuration } from '../../duration.js';
import { MusterError } from '../../errors.js';
import { nodesText } from '../../node-words.js';
import { isNone, type ShareText, shareOf } from '../../share.js';
import type { FeedEvent } from '../../sse.js';
import type { Tally } from '../../tally.js';

/** As the API takes it; `rest`: all that are left. */
export type BatchSize = ShareText | 'rest';

/** Flags that say in which batches nodes are started. */
export interface BatchOptions {
  readonly batch?: ShareText;
  readonly first?: ShareText;
  readonly then?: readonly BatchSize[];
  readonly pause?: number;
  readonly confirm?: boolean;
}

/** Reads what was typed after `--then`. */
export function batchSize(text: string): BatchSize {
  if (text.trim() === 'rest') return 'rest';
  const share = shareOf('--then', text);
  if (share !== null && !isNone(share)) return share;
  throw usage(`--then takes a count from 1 on (3), a fraction (0.8), a percentage (80%) or rest, not '${text}'`);
}

/** The sizes, the last of which counts for all further batches; undefined: no batches. */
export function batchSizes({ batch, first, then = [] }: BatchOptions): readonly BatchSize[] | undefined {
  if (first === undefined && then.length > 0) throw usage('--then goes with --first');
  const sizes = [...(first === undefined ? [] : [first]), ...then, ...(batch === undefined ? [] : [batch])];
  if (sizes.slice(0, -1).includes('rest')) throw usage('after the rest there is no further batch');
  if (sizes.length === 0) return undefined;
  return sizes.length === 1 && batch === undefined ? [...sizes, 'rest'] : sizes;
}

/** How a request's nodes are started; null: not in batches. */
export function batchesText(body: Readonly<Record<string, unknown>>): string | null {
  const sizes = body.batches as readonly BatchSize[] | undefined;
  if (sizes === undefined) return null;
  const last = sizes.at(-1) ?? 'rest';
  const said = [...sizes.slice(0, -1), last === 'rest' ? 'the rest' : `${last} each`];
  const between =
    body.batch_confirm === true
      ? '; after each it waits for push continue'
      : body.batch_pause === undefined
        ? ''
        : `; ${formatDuration(body.batch_pause as number)} between them`;
  return `Batches: ${said.join(', then ')}${between}`;
}

/**
 * What whoever watches is told of a batch; null: nothing.
 * @param soFar How the nodes stood at this event, which may be long ago.
 */
export function batchLine(
  { id, batches = [] }: Pick<Job, 'id' | 'batches'>,
  { name, data }: FeedEvent,
  soFar: Pick<Tally, 'count' | 'total' | 'undecided'>,
): string | null {
  if (name !== 'batch' || typeof data !== 'object' || data === null) return null;
  const { batch, status } = data as { readonly batch?: unknown; readonly status?: unknown };
  const choice = `Go on: muster push continue ${id}   Abort: muster push abort ${id}`;
  switch (status) {
    case 'begun':
      return `batch ${batch} begins${sizeText(batches[Math.min(Number(batch), batches.length) - 1], soFar)}`;
    case 'continued':
      return 'the job goes on';
    case 'pause':
      return `batch ${batch} has ended, the next one follows`;
    case 'confirm':
      return `batch ${batch} has ended. ${choice}`;
    case 'failures':
      return `too many nodes failed, no more are started. ${choice}`;
    default:
      return null;
  }
}

/** Fewer than it may have when nodes refused, or so many are not left. */
function sizeText(size: number | undefined, soFar: Pick<Tally, 'count' | 'total' | 'undecided'>): string {
  if (size === undefined) return '';
  const ready = soFar.count('ready');
  const most = soFar.total === 0 ? size : Math.min(size, ready + soFar.undecided);
  return `: ${most <= Math.max(1, ready) ? '' : 'at most '}${nodesText(most)}`;
}

function usage(reason: string): MusterError {
  return new MusterError('usage', { reason });
}
