import type { SourceKind } from '@muster/fabric';
import type { Store } from '@muster/store';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  appendEvents,
  type EventContent,
  frameEvent,
  placeRun,
  readEvents,
  sizeOfEvent,
  sizeOfRun,
  writeRun,
} from '../../../platform/src/log/event-chunk.js';
import type { Suite } from './suite.js';

interface Given {
  readonly org?: string;
  readonly subject?: string | null;
  readonly at?: number;
  readonly source?: string;
  readonly kind?: SourceKind;
  readonly lines?: Uint8Array;
  readonly body?: Uint8Array;
}

const NOTHING = new Uint8Array();

function event({ org = 'o', subject = null, at = 1, source = 's', kind = 'user', lines, body }: Given = {}) {
  const bytes = Buffer.concat([lines ?? Buffer.from('type:t\n'), body ?? NOTHING]);
  const linesEnd = bytes.length - (body ?? NOTHING).length;
  const content = { bytes, linesStart: 0, linesEnd, bodyStart: linesEnd, bodyEnd: bytes.length };
  const frames = Buffer.alloc(sizeOfRun(source) + sizeOfEvent(content));
  writeRun(frames, 0, { place: 0, at, source, kind }, [content]);
  return appendEvents({ count: 1, at, org_id: org, subject, frames, start: 0, end: frames.length });
}

async function rows(store: Store) {
  const found = await store.read.selectFrom('event_log').selectAll().orderBy('first').execute();
  return found.map(({ frames, bytes, ...row }) => {
    expect(bytes).toBe(frames.length);
    return { ...row, positions: readEvents({ ...row, frames }).map((part) => part.position) };
  });
}

/** One row of the log for many events. */
export function eventsSuite(suite: Suite): void {
  const { openStore } = suite;
  describe('events', () => {
    test('the events of one transaction make one row for each organization and subject', async () => {
      const store = await openStore();
      await Promise.all([
        store.persist([event({ at: 7 }), event({ subject: 'j', at: 5 })]),
        store.commit([event({ at: 6 }), event({ org: 'p', at: 9 })]),
        store.persist([event({ subject: 'j', at: 4 })]),
      ]);
      expect(await rows(store)).toEqual([
        { first: 1, last: 3, floor: 1, at_first: 6, at_last: 7, org_id: 'o', subject: null, positions: [1, 3] },
        { first: 2, last: 5, floor: 1, at_first: 4, at_last: 5, org_id: 'o', subject: 'j', positions: [2, 5] },
        { first: 4, last: 4, floor: 1, at_first: 9, at_last: 9, org_id: 'p', subject: null, positions: [4] },
      ]);
    });

    test('events of several transactions stay apart', async () => {
      const store = await openStore();
      await store.commit([event()]);
      await store.commit([event()]);
      expect((await rows(store)).map((row) => [row.floor, row.positions])).toEqual([
        [1, [1]],
        [2, [2]],
      ]);
    });

    test('a row holds a bounded number of bytes', async () => {
      const store = await openStore();
      const body = new Uint8Array(400_000);
      await store.commit(Array.from({ length: 5 }, () => event({ body })));
      expect((await rows(store)).map((row) => [row.floor, row.positions])).toEqual([
        [1, [1, 2]],
        [1, [3, 4]],
        [1, [5]],
      ]);
    });

    test('an event that is text comes back as it was', async () => {
      const store = await openStore();
      const text = { source: 'o/á', kind: 'node', lines: 'type:ü\n', body: '{"é":1}' } as const;
      const { bytes: frames, start, end } = frameEvent(text, text.lines, text.body);
      placeRun(frames, start, { place: 0, at: 9 });
      const about = { count: 1, at: 9, org_id: 'o', subject: null };
      await store.commit([event(), appendEvents({ ...about, frames, start, end }), event()]);
      const row = await store.read.selectFrom('event_log').select(['floor', 'frames']).executeTakeFirstOrThrow();
      const events = readEvents(row);
      const { bytes, source, kind, linesStart, linesEnd, bodyStart, bodyEnd, at } =
        events[1] ?? expect.fail('no event');
      const shown = Buffer.from(bytes);
      expect({
        source,
        kind,
        lines: shown.toString('utf8', linesStart, linesEnd),
        body: shown.toString('utf8', bodyStart, bodyEnd),
      }).toEqual(text);
      expect([events.map(({ position }) => position), at]).toEqual([[1, 2, 3], 9]);
    });

    test('events of any length are framed', () => {
      for (const length of [0, 1, 20_000, 30_000, 100_000, 10]) {
        const body = 'é'.repeat(length);
        const frame = frameEvent({ source: 's', kind: 'user' }, 'l\n', body);
        placeRun(frame.bytes, frame.start, { place: 2, at: 1 });
        const frames = frame.bytes.subarray(frame.start, frame.end);
        const [found = expect.fail('no event'), ...more] = readEvents({ floor: 5, frames });
        expect([found.position, more]).toEqual([7, []]);
        expect(Buffer.from(found.bytes).toString('utf8', found.bodyStart, found.bodyEnd)).toBe(body);
      }
    });

    test('events of one source and time are one run, of which those beyond a position are read', () => {
      // As most are received: with all that ends a frame.
      const received = Buffer.from('type:a\ncontent-length:4\n\nbody\0');
      const whole = { bytes: received, linesStart: 0, linesEnd: 7, bodyStart: 25, bodyEnd: 29, tailEnd: 30 };
      const apart = {
        bytes: Buffer.from('SEND\ntype:b\n\n\0'),
        linesStart: 5,
        linesEnd: 12,
        bodyStart: 13,
        bodyEnd: 13,
      };
      const events: EventContent[] = [whole, apart, whole];
      const bytes = events.reduce((size, one) => size + sizeOfEvent(one), sizeOfRun('ó'));
      const frames = Buffer.alloc(bytes + 3);
      expect(writeRun(frames, 3, { place: 2, at: 5, source: 'ó', kind: 'service' }, events)).toBe(frames.length);
      const row = { floor: 5, frames: frames.subarray(3) };
      const read = readEvents(row, 7);
      const shown = (from: EventContent) => [
        Buffer.from(from.bytes).toString('latin1', from.linesStart, from.linesEnd),
        Buffer.from(from.bytes).toString('latin1', from.bodyStart, from.bodyEnd),
        from.tailEnd && Buffer.from(from.bytes).toString('latin1', from.linesStart, from.tailEnd),
      ];
      expect(read.map(({ position, at, source, kind }) => [position, at, source, kind])).toEqual([
        [8, 5, 'ó', 'service'],
        [9, 5, 'ó', 'service'],
      ]);
      expect(read.map(shown)).toEqual([
        ['type:b\n', '', undefined],
        ['type:a\n', 'body', received.toString('latin1')],
      ]);
      expect(readEvents(row, 0, 2).map(({ position }) => position)).toEqual([7, 8]);
      expect(readEvents(row, 9)).toEqual([]);
    });

    test('an event comes back as it was', async () => {
      const store = await openStore();
      let position = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            at: fc.integer({ min: 0, max: 4_102_444_800_000 }),
            source: fc.string({ maxLength: 40, unit: 'grapheme' }),
            kind: fc.constantFrom<SourceKind>('user', 'node', 'service', 'server'),
            lines: fc.uint8Array({ maxLength: 50 }),
            body: fc.uint8Array({ maxLength: 50 }),
          }),
          async (given) => {
            position += 1;
            await store.commit([event(given)]);
            const row = await store.read
              .selectFrom('event_log')
              .select(['floor', 'frames'])
              .where('first', '=', position)
              .executeTakeFirstOrThrow();
            const [found] = readEvents(row);
            const { bytes, linesStart, linesEnd, bodyStart, bodyEnd } = found ?? expect.fail('no event');
            expect({
              position: found?.position,
              at: found?.at,
              source: found?.source,
              kind: found?.kind,
              lines: new Uint8Array(bytes.subarray(linesStart, linesEnd)),
              body: new Uint8Array(bytes.subarray(bodyStart, bodyEnd)),
            }).toEqual({ ...given, position });
          },
        ),
        { numRuns: 20 },
      );
    });
  });
}
