import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { EventStream } from '../http/sse.js';

/** One event as it goes over the wire. `data` already holds `timestamp`. */
export interface FeedEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** pino fits. */
export interface FeedLog {
  error(details: object, message: string): void;
}

/** After which event the reader wants to go on. An empty header counts as none. */
export function lastEventId(headers: Readonly<Record<string, string | string[] | undefined>>): string | undefined {
  return String(headers['last-event-id'] ?? '') || undefined;
}

/** Sends events as fast as the reader takes them, until either side has had enough. */
export function showFeed(
  stream: EventStream,
  response: ServerResponse,
  logger: FeedLog,
  open: (signal: AbortSignal) => AsyncGenerator<FeedEvent>,
): void {
  const closed = new AbortController();
  stream.onClose(() => closed.abort());
  const run = async (): Promise<void> => {
    for await (const event of open(closed.signal)) {
      if (!stream.send(event)) return;
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
