import { request as httpRequest } from 'node:http';
import type { ApiClient } from './api-client.js';
import { until } from './until.js';

export interface FeedEvent {
  readonly event: string;
  readonly id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Feed {
  readonly status: number;
  readonly contentType: string;
  readonly events: readonly FeedEvent[];
  /** Comment lines, without the colon. */
  readonly comments: readonly string[];
  readonly ended: boolean;
  /** All events once the server has ended the stream; fails when the connection broke before. */
  whole(patienceMs?: number): Promise<readonly FeedEvent[]>;
  /** The first `count` events, as soon as they are there. */
  first(count: number): Promise<readonly FeedEvent[]>;
  close(): void;
}

/** Opens an event feed (sheet §7.10) and keeps what it says. */
export function openFeed(api: ApiClient, rest: string, options: { lastEventId?: string } = {}): Promise<Feed> {
  const path = api.path(rest);
  const headers = api.headers('GET', path, '', {
    accept: 'text/event-stream',
    ...(options.lastEventId === undefined ? {} : { headers: { 'last-event-id': options.lastEventId } }),
  });
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(new URL(path, api.url), { headers, agent: false }, (incoming) => {
      const events: FeedEvent[] = [];
      const comments: string[] = [];
      let pending = '';
      let fields: Record<string, string> = {};
      let ended = false;
      let broken: Error | undefined;
      const flush = (): void => {
        if (fields.event !== undefined) {
          events.push({ event: fields.event, id: fields.id ?? '', data: JSON.parse(fields.data ?? '{}') });
        }
        fields = {};
      };
      const line = (text: string): void => {
        const colon = text.indexOf(':');
        if (text === '') flush();
        else if (colon === 0) comments.push(text.slice(1));
        else fields[text.slice(0, colon)] = text.slice(colon + 1).replace(/^ /, '');
      };
      incoming.setEncoding('utf8');
      incoming.on('data', (chunk: string) => {
        const lines = (pending + chunk).split('\n');
        pending = lines.pop() ?? '';
        lines.forEach(line);
      });
      incoming.on('end', () => {
        if (pending !== '') line(pending);
        flush();
        ended = true;
      });
      incoming.on('error', (error) => {
        broken = error;
        ended = true;
      });
      resolve({
        status: incoming.statusCode ?? 0,
        contentType: incoming.headers['content-type'] ?? '',
        events,
        comments,
        get ended() {
          return ended;
        },
        async whole(patienceMs) {
          await until('the feed to end', () => ended, patienceMs);
          if (broken === undefined) return events;
          throw new Error(`the feed broke off after ${events.length} events`, { cause: broken });
        },
        async first(count) {
          await until(`${count} events`, () => events.length >= count);
          return events.slice(0, count);
        },
        close: () => outgoing.destroy(),
      });
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

/** Events as short texts: `quorum_vote(DONKEY success)`. */
export function told(events: readonly FeedEvent[]): string[] {
  return events.map(({ event, data }) => {
    if (event === 'start') return event;
    const details = [data.node, data.status].filter((part) => part !== undefined).join(' ');
    return details === '' || event === 'summary' ? event : `${event}(${details})`;
  });
}
