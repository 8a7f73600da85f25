import fc from 'fast-check';
import { expect, test } from 'vitest';
import { EventParser } from '../src/sse.js';

const STREAM =
  'event: start\nid: job-1\ndata: {"node_count":2}\n\n:keepalive\n\nevent: job_complete\nid: job-2\ndata: {"status":"complete"}\n';

const EVENTS = [
  { name: 'start', id: 'job-1', data: { node_count: 2 } },
  { name: 'job_complete', id: 'job-2', data: { status: 'complete' } },
];

test('sheet §7.10: a last event without an empty line after it is still an event', () => {
  const parser = new EventParser();
  expect([...parser.push(STREAM), ...parser.end()]).toEqual(EVENTS);
});

test('events are the same however the stream is cut, and with any line ending', () => {
  const ending = fc.constantFrom('\n', '\r\n');
  fc.assert(
    fc.property(ending, fc.array(fc.integer({ min: 1, max: 20 })), (newline, sizes) => {
      const text = STREAM.replaceAll('\n', newline);
      const parser = new EventParser();
      const events = [];
      let at = 0;
      for (const size of sizes) {
        events.push(...parser.push(text.slice(at, at + size)));
        at += size;
      }
      events.push(...parser.push(text.slice(at)), ...parser.end());
      expect(events).toEqual(EVENTS);
    }),
  );
});

test('several data lines are one text', () => {
  const parser = new EventParser();
  expect(parser.push('data: a\ndata: b\n\n')).toEqual([{ name: 'message', id: null, data: 'a\nb' }]);
});

test('any text gives events or nothing, and never throws', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), (pieces) => {
      const parser = new EventParser();
      for (const piece of pieces) parser.push(piece);
      parser.end();
    }),
  );
});
