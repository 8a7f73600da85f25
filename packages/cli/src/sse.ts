import { MusterError } from '@muster/wire';
import { bodyPieces } from './body.js';
import type { Client } from './client.js';
import { MAX_EVENT_CHARS, RECONNECT_MAX_MS, RECONNECT_MIN_MS, RECONNECT_PATIENCE_MS } from './limits.js';

/** One event of a feed (sheet §7.10). */
export interface FeedEvent {
  readonly name: string;
  readonly id: string | null;
  readonly data: unknown;
}

/**
 * Takes an event stream apart as it arrives. Any line ending is accepted, comments (`:keepalive`) are skipped,
 * and `end()` flushes a last event that no empty line follows, as the deployed server sends it.
 */
export class EventParser {
  #rest = '';
  #name = '';
  #id: string | null = null;
  #data: string[] = [];

  push(text: string): FeedEvent[] {
    this.#rest += text;
    if (this.#rest.length > MAX_EVENT_CHARS)
      throw new MusterError('usage', { reason: 'an event of the feed is too long' });
    const events: FeedEvent[] = [];
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#line(line, events);
    return events;
  }

  end(): FeedEvent[] {
    const events: FeedEvent[] = [];
    if (this.#rest !== '') this.#line(this.#rest.replace(/\r$/, ''), events);
    this.#rest = '';
    this.#line('', events);
    return events;
  }

  #line(line: string, events: FeedEvent[]): void {
    if (line === '') {
      if (this.#data.length > 0 || this.#name !== '') events.push(this.#take());
      return;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#name = value;
    if (field === 'id') this.#id = value;
    if (field === 'data') this.#data.push(value);
  }

  #take(): FeedEvent {
    const text = this.#data.join('\n');
    const event = { name: this.#name === '' ? 'message' : this.#name, id: this.#id, data: decode(text) };
    this.#name = '';
    this.#data = [];
    return event;
  }
}

function decode(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Asked after a stream ended: whether more can happen. */
  readonly again: () => Promise<boolean>;
  /** Told when the server cannot be reached, and with null when it can again. */
  readonly onTrouble: (reason: string | null) => void;
  readonly pause: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/**
 * The events of a feed, opened again after a break with Last-Event-ID, so that none is missed and none repeated.
 * Ends when `signal` aborts, after RECONNECT_PATIENCE_MS without the server, or when nothing more can happen: then the
 * feed is read once more, for a stream that ended too early (its server was stopped) did not tell what came last.
 */
export async function* followFeed(client: Client, path: string, options: FollowOptions): AsyncGenerator<FeedEvent> {
  let lastId: string | null = null;
  let wait = RECONNECT_MIN_MS;
  let reachedAt = options.now();
  let last = false;
  while (!options.signal.aborted) {
    try {
      for await (const event of readFeed(client, path, lastId, options.signal, () => options.onTrouble(null))) {
        lastId = event.id ?? lastId;
        wait = RECONNECT_MIN_MS;
        reachedAt = options.now();
        yield event;
      }
      if (options.signal.aborted || last) return;
      last = !(await options.again());
      reachedAt = options.now();
    } catch (error) {
      if (options.signal.aborted) return;
      if (!isTransient(error) || options.now() - reachedAt > RECONNECT_PATIENCE_MS) throw error;
      options.onTrouble(error instanceof Error ? error.message : String(error));
    }
    await options.pause(wait);
    wait = Math.min(wait * 2, RECONNECT_MAX_MS);
  }
}

/** A broken connection or a busy server passes; a refusal does not. */
function isTransient(error: unknown): boolean {
  return !(error instanceof MusterError) || error.exit === 5;
}

async function* readFeed(
  client: Client,
  path: string,
  lastId: string | null,
  signal: AbortSignal,
  opened: () => void,
): AsyncGenerator<FeedEvent> {
  const headers = lastId === null ? {} : { 'last-event-id': lastId };
  const response = await client.send('GET', path, { accept: 'text/event-stream', headers, signal, endless: true });
  opened();
  const parser = new EventParser();
  const decoder = new TextDecoder();
  for await (const piece of bodyPieces(response, signal)) yield* parser.push(decoder.decode(piece, { stream: true }));
  if (!signal.aborted) yield* parser.end();
}
