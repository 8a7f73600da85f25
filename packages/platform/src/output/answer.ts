import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Schema } from '@muster/store';
import type { FastifyReply } from 'fastify';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import type { EventStreams } from '../http/sse.js';
import type { OutputFollowers } from './followers.js';
import { OUTPUT_LIMITS } from './limits.js';
import { followedOutput, storedOutput, summarizeOutput } from './reading.js';
import { OCTETS, type OutputRequest } from './schemas.js';
import type { SourceStanding, SourceStream } from './types.js';

/** pino fits. */
export interface OutputLog {
  error(details: object, message: string): void;
}

export interface AnswerOutputDeps {
  readonly read: Kysely<Schema>;
  readonly followers: Pick<OutputFollowers, 'follow'>;
  readonly streams: EventStreams;
  readonly logger: OutputLog;
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
  const { ended, missing } = standing;
  reply
    .header('content-type', OCTETS)
    .header('x-muster-complete', String(ended && missing === null))
    .header('x-muster-dropped-bytes', String(summary.dropped));
  if (missing !== null) reply.header('x-muster-missing', headerText(missing));
  await reply.send(Readable.from(storedOutput(deps.read, of, from), { objectMode: false }));
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

/** Reasons come from nodes: a header takes printable ASCII alone. */
function headerText(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, '?').slice(0, OUTPUT_LIMITS.reasonCharacters);
}

/** Aborted when the connection closes or the server stops. */
function readerLeft(response: ServerResponse, stopping: AbortSignal): AbortSignal {
  const left = new AbortController();
  const leave = (): void => left.abort();
  stopping.addEventListener('abort', leave, { once: true });
  response.once('close', () => {
    stopping.removeEventListener('abort', leave);
    leave();
  });
  return left.signal;
}
