import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MAX_EVENT_CHARS } from '../src/limits.js';
import { eventsOf, type FeedEvent } from '../src/sse.js';

const STREAM =
  'event: start\nid: job-1\ndata: {"node_count":2}\n\n:keepalive\n\nevent: job_complete\nid: job-2\ndata: {"status":"complete"}\n';

const EVENTS = [
  { name: 'start', id: 'job-1', data: { node_count: 2 } },
  { name: 'job_complete', id: 'job-2', data: { status: 'complete' } },
];

async function events(...pieces: readonly string[]): Promise<FeedEvent[]> {
  const found: FeedEvent[] = [];
  async function* stream() {
    yield* pieces;
  }
  for await (const event of eventsOf(stream())) found.push(event);
  return found;
}

test('sheet §7.10: a last event without an empty line after it is still an event', async () => {
  expect(await events(STREAM)).toEqual(EVENTS);
  expect(await events(STREAM.trimEnd())).toEqual(EVENTS);
});

test('events are the same however the stream is cut, and with any line ending', async () => {
  const ending = fc.constantFrom('\n', '\r\n');
  await fc.assert(
    fc.asyncProperty(ending, fc.array(fc.integer({ min: 1, max: 20 })), async (newline, sizes) => {
      const text = STREAM.replaceAll('\n', newline);
      const pieces: string[] = [];
      let at = 0;
      for (const size of sizes) {
        pieces.push(text.slice(at, at + size));
        at += size;
      }
      expect(await events(...pieces, text.slice(at))).toEqual(EVENTS);
    }),
  );
});

test('an event that never ends is refused at the limit, however it comes', async () => {
  const piece = `${'x'.repeat(1024 * 1024)}`;
  const most = MAX_EVENT_CHARS / piece.length;
  const few = Array.from({ length: most - 1 }, () => piece);
  expect((await events('data: ', ...few, '\n\n')).map(({ data }) => String(data).length)).toEqual([
    MAX_EVENT_CHARS - piece.length,
  ]);
  await expect(events('data: ', ...few, piece, piece)).rejects.toThrow('an event of the feed is too long');
  const lines = Array.from({ length: most + 1 }, () => `data: ${piece}\n`);
  await expect(events(...lines)).rejects.toThrow('an event of the feed is too long');
});
