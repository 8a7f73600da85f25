import { once } from 'node:events';
import type { FastifyReply } from 'fastify';
import type { EventStreams } from '../http/sse.js';
import type { LayerLog } from '../upkeep/logging.js';

/** One event as it goes over the wire. `data` already holds `timestamp`. */
export interface FeedEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface ShowFeedDeps {
  readonly streams: EventStreams;
  readonly logger: Pick<LayerLog, 'error'>;
  /** Between comment lines that keep proxies from closing an idle stream. */
  readonly keepaliveMs: number;
}

/** @param lastEventId After which event the reader wants to go on. */
export type OpenFeed = (lastEventId: string | undefined, signal: AbortSignal) => AsyncGenerator<FeedEvent>;

/**
 * Answers with events as fast as the reader takes them, until either side has had enough.
 * @throws MusterError `too_busy` over the limits of streams.
 */
export function showFeed(reply: FastifyReply, { streams, logger, keepaliveMs }: ShowFeedDeps, open: OpenFeed): void {
  const stream = streams.open(reply, { keepaliveMs });
  if (stream.closed) return;
  const response = reply.raw;
  const closed = new AbortController();
  stream.onClose(() => closed.abort());
  // An empty header counts as none.
  const lastEventId = String(reply.request.headers['last-event-id'] ?? '') || undefined;
  const run = async (): Promise<void> => {
    for await (const event of open(lastEventId, closed.signal)) {
      if (!stream.send(event)) return;
      // A feed that has much to show, from memory or from SQLite, would never leave the turn otherwise.
      if (streams.share.used) await streams.share.free();
      if (response.writableNeedDrain) {
        await once(response, 'drain', { signal: closed.signal }).catch(() => undefined);
      }
    }
  };
  run().then(
    () => stream.end(),
    (error: unknown) => {
      logger.error({ err: error }, 'an event feed failed');
      stream.fail();
    },
  );
}
