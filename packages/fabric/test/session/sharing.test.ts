import { encodeFrame, FrameParser, frame, messageTail, newEvent, originOf, stamp } from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Delivery } from '../../src/hub/delivery.js';
import { Link, single } from '../../src/session/chain.js';

describe('frames that clients share', () => {
  test('whoever got the same frames is at the same link, and its bytes are those frames in order', () => {
    const frames = Array.from({ length: 5 }, (_, index) => single(Buffer.from(`<${index}>`)));
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(4), { maxLength: 6 }), { maxLength: 6 }), (clients) => {
        const start = new Link(null, null);
        const ends = new Map<string, Link>();
        for (const got of clients) {
          let link = start;
          for (const index of got) link = link.next(frames[index] ?? single(Buffer.from('never')));
          const text = got.map((index) => `<${index}>`).join('');
          expect(Buffer.from(link.bytes()).toString()).toBe(text);
          expect(link.size).toBe(text.length);
          expect(ends.get(text) ?? link).toBe(link);
          ends.set(text, link);
        }
      }),
    );
  });
});

describe('headers as selectors see them', () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 12 });
  const name = text.filter((each) => each !== '' && !each.includes('\0'));
  const value = text.filter((each) => !each.includes('\0'));

  test('the first of each name, unescaped, whatever it contains', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, value), { maxLength: 8 }),
        fc.uint8Array({ maxLength: 20 }),
        (headers, body) => {
          const [event] = stamp([newEvent(originOf('org', 'org/me'), headers, body)], 42, 0);
          if (event === undefined) throw new Error('nothing stamped');
          const delivery = new Delivery();
          delivery.show(event.bytes, event.start, event.end, event.position);
          const fixed = ['destination', 'message-id', 'org', 'source', 'time', 'content-length'];
          for (const [asked] of headers) {
            if (fixed.includes(asked)) continue;
            expect(delivery.get(asked)).toBe(headers.find(([each]) => each === asked)?.[1]);
          }
          expect(delivery.get('message-id')).toBe('42');
          expect(delivery.get('content-length')).toBeUndefined();
          expect(delivery.get('never there')).toBeUndefined();
        },
      ),
    );
  });

  test('the same tail as if it were encoded header by header', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, value), { maxLength: 5 }),
        fc.uint8Array(),
        fc.nat(2 ** 40),
        (headers, body, at) => {
          const [event] = stamp([newEvent(originOf('org', 'org/me'), headers, body)], at, at);
          const all: [string, string][] = [
            ['destination', '/topic/events'],
            ['message-id', String(at)],
            ['org', 'org'],
            ['source', 'org/me'],
            ['time', new Date(at).toISOString()],
            ...headers,
          ];
          const lines = Buffer.from(encodeFrame(frame('MESSAGE', all)))
            .toString()
            .slice('MESSAGE\n'.length, -2);
          const tail = Buffer.from(event?.bytes.subarray(event.start, event.end) ?? []);
          expect(tail.equals(messageTail(lines, body))).toBe(true);
        },
      ),
    );
  });

  test('for older clients a tail differs only where their escapes do', () => {
    const tails = (value: string) => {
      const [event] = stamp([newEvent(originOf('org', 'org/me'), [['x', value]], Buffer.from('body'))], 1, 0);
      if (event === undefined) throw new Error('nothing stamped');
      const delivery = new Delivery();
      delivery.show(event.bytes, event.start, event.end, 1);
      const text = (version: '1.0' | '1.1' | '1.2') => {
        const { bytes, start, end } = delivery.tail(version);
        return Buffer.from(bytes.subarray(start, end)).toString();
      };
      return { '1.2': text('1.2'), '1.1': text('1.1'), '1.0': text('1.0') };
    };
    const plain = tails('a:b\\');
    expect(plain['1.1']).toBe(plain['1.2']);
    expect(plain['1.2']).toContain('\nx:a\\cb\\\\\n');
    expect(plain['1.0']).toContain('\nx:a:b\\\n');
    const cr = tails('a\rb');
    expect(cr['1.2']).toContain('\nx:a\\rb\n');
    expect(cr['1.1']).toContain('\nx:a\rb\n');
  });

  test('events stamped together lie one after the other', () => {
    const events = ['a', 'b', 'c'].map((type) =>
      newEvent(originOf('org', 'org/me'), [['type', type]], Buffer.from(type)),
    );
    const stamped = stamp(events, 7, 0);
    expect(stamped.map(({ position }) => position)).toEqual([7, 8, 9]);
    const bodies: string[] = [];
    const parser = new FrameParser(
      { headBytes: 1000, bodyBytes: 100, headers: 20, headerNameBytes: 100 },
      {
        frame: (raw) => {
          bodies.push(Buffer.from(raw.body()).toString());
        },
      },
    );
    for (const { bytes, start, end } of stamped)
      parser.push(Buffer.concat([Buffer.from('MESSAGE\n'), bytes.subarray(start, end)]));
    expect(bodies).toEqual(['a', 'b', 'c']);
    expect(stamped.slice(1).map(({ start }) => start)).toEqual(stamped.slice(0, -1).map(({ end }) => end));
  });
});
