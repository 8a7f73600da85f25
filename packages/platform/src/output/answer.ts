import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Schema } from '@muster/store';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import { headerText } from '../http/header-text.js';
import { HTTP_LIMITS } from '../http/limits.js';
import type { EventStreams } from '../http/sse.js';
import type { LayerLog } from '../upkeep/logging.js';
import { gapOf, positionOf } from './chunks.js';
import type { OutputFollowers } from './followers.js';
import { OUTPUT_LIMITS } from './limits.js';
import { type ByteRange, rangeWithin, readRange } from './range.js';
import { followedOutput, storedOutput, summarizeOutput } from './reading.js';
import { OCTETS, type OutputRequest } from './schemas.js';
import type { SourceStanding, SourceStream } from './types.js';

export interface AnswerOutputDeps {
  readonly read: Kysely<Schema>;
  readonly followers: Pick<OutputFollowers, 'follow'>;
  readonly streams: EventStreams;
  readonly logger: Pick<LayerLog, 'error'>;
  /** Aborted when the server stops. */
  readonly stopping: AbortSignal;
}

/** Undefined when there is no such source. */
export type FindSource = () => Promise<SourceStanding | undefined>;

/**
 * Answers with what was captured of a stream; with `follow`, and while more may come, until its source has ended.
 * @throws MusterError `not_found` when there is nothing to show; `too_busy` over the limits of streams.
 */
export async function answerOutput(
  reply: FastifyReply,
  deps: AnswerOutputDeps,
  of: SourceStream,
  { follow, from = 0 }: OutputRequest,
  find: FindSource,
): Promise<void> {
  const standing = await find();
  const summary = standing && (await summarizeOutput(deps.read, of, standing));
  const following = follow === 'true' && standing?.captured === true && !standing.ended;
  if (standing === undefined || summary === undefined || !(summary.present || following)) {
    throw new MusterError('not_found', { kind: 'output', name: `${of.part}/${of.stream}` });
  }
  if (following) {
    const leave = deps.streams.seat(reply.request, () => reply.raw.destroy());
    const source = { read: deps.read, followers: deps.followers, standingOf: find };
    const bytes = followedOutput(source, of, from, readerLeft(reply.raw, deps.stopping));
    sendAsItComes(reply, bytes)
      .catch((error: unknown) => {
        if (!reply.raw.destroyed) deps.logger.error({ err: error }, 'following output failed');
      })
      .finally(leave);
    return;
  }
  const { ended, missing, inline } = standing;
  const whole = inline?.[of.stream] ?? null;
  const position = (first: number) =>
    whole === null ? positionOf(deps.read, of, first) : Promise.resolve(first < whole.length ? first : undefined);
  const part = from === 0 ? await rangeOf(reply.request, summary.size, position) : undefined;
  reply
    .header('content-type', OCTETS)
    .header('accept-ranges', from === 0 ? 'bytes' : 'none')
    .header('x-muster-complete', String(ended && missing === null))
    .header('x-muster-dropped-bytes', String(summary.dropped));
  if (summary.dropped > 0) reply.header('x-muster-dropped-at', String(await gapOf(deps.read, of)));
  if (missing !== null) reply.header('x-muster-missing', headerText(missing).slice(0, OUTPUT_LIMITS.reasonCharacters));
  if (part !== undefined) {
    const { first, last } = part.range;
    reply
      .code(206)
      .header('content-length', String(part.bytes))
      .header('content-range', `bytes ${first}-${last}/${ended ? summary.size : '*'}`);
  }
  const begin = part?.from ?? from;
  if (whole !== null) {
    await reply.send(Buffer.from(whole.subarray(begin, part && begin + part.bytes)));
    return;
  }
  const bytes = storedOutput(deps.read, of, begin, part?.bytes);
  await reply.send(Readable.from(bytes, { objectMode: false }));
}

interface Part {
  readonly range: ByteRange;
  /** Its first byte, as counted by the command. */
  readonly from: number;
  readonly bytes: number;
}

/**
 * What the header `Range` asks for of the bytes that are stored. Undefined: all of them.
 * @param position Where the byte with this number stands in what the command wrote.
 * @throws MusterError `range_not_satisfiable`
 */
async function rangeOf(
  { headers }: FastifyRequest,
  size: number,
  position: (first: number) => Promise<number | undefined>,
): Promise<Part | undefined> {
  // Nothing that is sent has a validator, so that no condition on one holds (RFC 9110 §13.1.5).
  const asked = headers['if-range'] === undefined ? readRange(headers.range) : undefined;
  if (asked === undefined) return undefined;
  const range = rangeWithin(asked, size);
  const from = range && (await position(range.first));
  if (range === undefined || from === undefined) {
    const shown = headers.range?.slice(0, HTTP_LIMITS.echoedCharacters) ?? '';
    throw new MusterError('range_not_satisfiable', { range: shown, size });
  }
  return { range, from, bytes: range.last - range.first + 1 };
}

function sendAsItComes(reply: FastifyReply, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  // The reader learns at once that it follows, not when the first byte comes.
  reply.hijack();
  reply.raw.writeHead(200, {
    'content-type': OCTETS,
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
    'x-content-type-options': 'nosniff',
    // It may end while the server stops, and must not leave an idle connection that stops it from stopping.
    connection: 'close',
  });
  reply.raw.flushHeaders();
  return pipeline(Readable.from(bytes, { objectMode: false }), reply.raw);
}

/** Aborted when the connection closes or the server stops. */
function readerLeft(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const left = new AbortController();
  const leave = (): void => left.abort();
  if (response.closed || stopping.aborted) leave();
  stopping.addEventListener('abort', leave, { once: true });
  response.once('close', () => {
    stopping.removeEventListener('abort', leave);
    leave();
  });
  return left.signal;
}
