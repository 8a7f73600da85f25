import type { Readable } from 'node:stream';
import { createParser } from 'eventsource-parser';
import { bodyPieces } from './body.js';
import type { Client } from './client.js';
import { MusterError } from './errors.js';
import { MAX_EVENT_CHARS } from './limits.js';
import { Reopening, type ReopeningOptions } from './reopening.js';

/** One event of a feed (sheet §7.10). */
export interface FeedEvent {
  readonly name: string;
  readonly id: string | null;
  readonly data: unknown;
}

/**
 * The events of a stream as their text arrives. A last one that no empty line follows, as the deployed server sends it, is
 * still an event.
 * @throws MusterError `usage` when one is longer than `MAX_EVENT_CHARS`
 */
export async function* eventsOf(pieces: AsyncIterable<string>): AsyncGenerator<FeedEvent> {
  let events: FeedEvent[] = [];
  let tooLong = false;
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: ({ event, id, data }) => events.push({ name: event ?? 'message', id: id ?? null, data: decode(data) }),
    onError: ({ type }) => {
      tooLong ||= type === 'max-buffer-size-exceeded';
    },
  });
  const take = (text: string): FeedEvent[] => {
    parser.feed(text);
    if (tooLong) throw new MusterError('usage', { reason: 'an event of the feed is too long' });
    const taken = events;
    events = [];
    return taken;
  };
  for await (const piece of pieces) yield* take(piece);
  yield* take(END_OF_LAST_EVENT);
}

const END_OF_LAST_EVENT = '\n\n';

function decode(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export interface FollowOptions extends ReopeningOptions {
  readonly signal: AbortSignal;
  /** Asked after a stream ended: whether more can happen. */
  readonly again: () => Promise<boolean>;
}

/**
 * The events of a feed, opened again after a break with Last-Event-ID, so that none is missed and none repeated.
 * Ends when `signal` aborts, after RECONNECT_PATIENCE_MS without the server, or when nothing more can happen: then the
 * feed is read once more, for a stream that ended too early (its server was stopped) did not tell what came last.
 */
export async function* followFeed(client: Client, path: string, options: FollowOptions): AsyncGenerator<FeedEvent> {
  const reopening = new Reopening(options);
  let lastId: string | null = null;
  let last = false;
  while (!options.signal.aborted) {
    try {
      for await (const event of readFeed(client, path, lastId, options.signal, () => reopening.opened())) {
        lastId = event.id ?? lastId;
        reopening.received();
        yield event;
      }
      if (options.signal.aborted || last) return;
      last = !(await options.again());
      reopening.reached();
    } catch (error) {
      if (options.signal.aborted) return;
      reopening.broke(error);
    }
    await reopening.pause();
  }
}

async function* readFeed(
  client: Client,
  path: string,
  lastId: string | null,
  signal: AbortSignal,
  opened: () => void,
): AsyncGenerator<FeedEvent> {
  const headers = lastId === null ? {} : { 'last-event-id': lastId };
  const { body } = await client.send('GET', path, { accept: 'text/event-stream', headers, signal, endless: true });
  opened();
  for await (const event of eventsOf(textOf(body, signal))) {
    // What broke off in the middle of an event is not one.
    if (signal.aborted) return;
    yield event;
  }
}

async function* textOf(body: Readable, signal: AbortSignal): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  for await (const piece of bodyPieces(body, signal)) yield decoder.decode(piece, { stream: true });
}
