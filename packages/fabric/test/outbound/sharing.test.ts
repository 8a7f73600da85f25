import {
  encodeFrame,
  FabricMetrics,
  FrameParser,
  frame,
  type Headers,
  type LoggedEvent,
  messageTail,
  newEvent,
  originOf,
  stamp,
} from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Delivery } from '../../src/event/delivery.js';
import { bytesOfTail } from '../../src/event/tail.js';
import { FlushScheduler } from '../../src/outbound/flush-scheduler.js';
import { FrameBuffer } from '../../src/outbound/frame-buffer.js';
import { FrameSequence, single } from '../../src/outbound/frame-sequence.js';
import { OutboundQueue } from '../../src/outbound/outbound-queue.js';
import type { RawFrame } from '../../src/stomp/raw-frame.js';

describe('frames that clients share', () => {
  test('whoever got the same frames is at the same link, and its bytes are those frames in order', () => {
    const frames = Array.from({ length: 5 }, (_, index) => single(Buffer.from(`<${index}>`)));
    fc.assert(
      fc.property(fc.array(fc.array(fc.nat(4), { maxLength: 6 }), { maxLength: 6 }), (clients) => {
        const start = new FrameSequence(null, null);
        const ends = new Map<string, FrameSequence>();
        for (const got of clients) {
          let link = start;
          for (const index of got) link = link.followedBy(frames[index] ?? single(Buffer.from('never')));
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

const LIMITS = { headBytes: 10_000, bodyBytes: 1000, headers: 20, headerNameBytes: 1000 };

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
          const event = logged(headers, body, 42, 0);
          const tail = stamp(event);
          const own = new Delivery();
          own.show(event);
          const fromAbove = new Delivery();
          fromAbove.showTail(tail, 0, tail.length, 42);
          const fixed = ['destination', 'message-id', 'org', 'source', 'source-kind', 'time', 'content-length'];
          const parsed = new Delivery();
          const parser = new FrameParser(LIMITS, {
            frame: (raw) => {
              parsed.showTail(raw.bytes, raw.headerOffsets[3] as number, raw.end, 42, raw);
              check(parsed);
            },
          });
          const check = (delivery: Delivery) => {
            for (const [asked] of headers) {
              if (fixed.includes(asked)) continue;
              expect(delivery.get(asked)).toBe(headers.find(([each]) => each === asked)?.[1]);
            }
            const said = fixed.map((asked) => delivery.get(asked));
            expect(said).toEqual([
              '/topic/events',
              '42',
              'org',
              'org/me',
              'user',
              '1970-01-01T00:00:00.000Z',
              undefined,
            ]);
            expect(delivery.get('never there')).toBeUndefined();
            expect(delivery.get('subscription')).toBe(headers.find(([each]) => each === 'subscription')?.[1]);
          };
          check(own);
          check(fromAbove);
          parser.push(Buffer.concat([Buffer.from('MESSAGE\nsubscription:all\n'), tail]));
          expect(parsed.position).toBe(42);
        },
      ),
    );
  });

  test('of each event its own, whatever those before it had', () => {
    const headersOf = (names: string[], values: string[]) =>
      fc.array(fc.tuple(fc.constantFrom(...names), fc.constantFrom(...values)), { maxLength: 6 });
    const plain = headersOf(['a', 'b', 'ab'], ['', 'x', 'y', 'xy']);
    // The bytes of the one are the characters of the other.
    const foreign = headersOf(['a', 'b', 'é'], ['x', 'é', 'Ã©']);
    const escaped = headersOf(['a', 'b', 'a:b'], ['x', 'é', 'x:y', 'x\n']);
    // More than those whose values are kept.
    const names = ['a', 'b', 'ab', 'é', 'a:b', 'c', 'd', 'e', 'f', 'g', 'h'];
    const event = fc.record({
      headers: fc.oneof(plain, foreign, escaped),
      asked: fc.array(fc.constantFrom(...names), { minLength: 5, maxLength: 20 }),
      how: fc.constantFrom('ours', 'ours', 'received', 'received', 'from above', 'from above, parsed'),
    });
    fc.assert(
      fc.property(fc.array(event, { minLength: 10, maxLength: 30 }), (events) => {
        const delivery = new Delivery();
        for (const { headers, asked, how } of events) {
          const check = () => {
            for (const name of asked) expect(delivery.get(name)).toBe(headers.find(([each]) => each === name)?.[1]);
          };
          const shown = logged(headers, new Uint8Array(), 42, 0);
          if (how === 'ours') {
            delivery.show(shown);
            check();
          } else if (how === 'received') {
            read(encodeFrame(frame('SEND', headers)), (raw) => {
              const lines = { bytes: raw.bytes, linesStart: raw.headStart, linesEnd: raw.headEnd };
              const found = { spans: raw.headerOffsets, spansStart: 0, spansEnd: 3 * raw.headerCount };
              const event = { ...shown.event, ...lines, ...(raw.ascii && !raw.escaped ? found : {}) };
              delivery.show({ ...shown, event });
              check();
            });
          } else {
            const tail = stamp(shown);
            read(Buffer.concat([Buffer.from('MESSAGE\nsubscription:all\n'), tail]), (raw) => {
              const parsed = how === 'from above, parsed' ? raw : null;
              delivery.showTail(raw.bytes, raw.headerOffsets[3] as number, raw.end, 42, parsed);
              check();
            });
          }
        }
      }),
    );
  });

  test('the same tail as if it were encoded header by header', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(name, value), { maxLength: 5 }),
        fc.uint8Array(),
        fc.nat(2 ** 40),
        (headers, body, at) => {
          const tail = stamp(logged(headers, body, at, at));
          const all: [string, string][] = [
            ['destination', '/topic/events'],
            ['message-id', String(at)],
            ['org', 'org'],
            ['source', 'org/me'],
            ['source-kind', 'user'],
            ['time', new Date(at).toISOString()],
            ...headers,
          ];
          const lines = Buffer.from(encodeFrame(frame('MESSAGE', all)))
            .toString()
            .slice('MESSAGE\n'.length, -2);
          expect(Buffer.from(tail).equals(messageTail(lines, body))).toBe(true);
        },
      ),
    );
  });

  test('for older clients a tail differs only where their escapes do', () => {
    const tails = (value: string) => {
      const delivery = new Delivery();
      delivery.show(logged([['x', value]], Buffer.from('body'), 1, 0));
      const text = (version: '1.0' | '1.1' | '1.2') => Buffer.from(bytesOfTail(delivery.tail(version))).toString();
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

  test('an event is put together in the same way wherever its bytes lie', () => {
    const origin = originOf('org', 'org/me', 'user');
    const received = Buffer.from('SEND\ntype:a\ncontent-length:4\n\nbody\0SEND');
    const where = { bytes: received, linesStart: 5, linesEnd: 12, bodyStart: 30, bodyEnd: 34 };
    const together = stamp({ position: 7, atMs: 0, event: { origin, ...where, tailEnd: 35 } });
    expect(Buffer.from(together).toString()).toMatch(/\ntype:a\ncontent-length:4\n\nbody\0$/);
    expect(stamp({ position: 7, atMs: 0, event: { origin, ...where } })).toEqual(together);
  });
});

describe('MESSAGEs in a block', () => {
  const heads = ['MESSAGE\nsubscription:0\n', `MESSAGE\nsubscription:${'s'.repeat(50)}\n`].map((text) =>
    Buffer.from(text),
  );
  const origins = [originOf('org', 'org/me', 'user'), originOf('org', 'org/you', 'user')];
  const message = fc.record({
    client: fc.nat(1),
    origin: fc.constantFrom(...origins),
    atMs: fc.constantFrom(0, 1_000_000),
    position: fc.oneof(fc.constantFrom(9, 10, 99, 100, 2 ** 31, 2 ** 40, Number.MAX_SAFE_INTEGER), fc.nat(200)),
    size: fc.constantFrom(0, 10, 5000),
  });

  test('each is its head and its tail, and stays so while others are put there', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 150 }), (messages) => {
        const block = new FrameBuffer();
        const made = messages.map(({ client, origin, atMs, position, size }) => {
          const head = heads[client] ?? Buffer.alloc(0);
          const event = { position, atMs, event: newEvent(origin, [['type', 't']], new Uint8Array(size).fill(65)) };
          const delivery = new Delivery();
          delivery.show(event);
          return { frame: block.messageFrame(head, delivery), wanted: Buffer.concat([head, stamp(event)]) };
        });
        for (const { frame, wanted } of made) {
          expect(Buffer.from(frame.bytes.subarray(frame.start, frame.end)).equals(wanted)).toBe(true);
        }
      }),
    );
  });

  test('every client is written its own and those it shares, in order', () => {
    const step = fc.record({ client: fc.nat(2), kind: fc.constantFrom('own', 'shared', 'flush'), size: fc.nat(40) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const scheduler = new FlushScheduler(() => undefined);
        const clients = [0, 1, 2].map(() => {
          const written: Buffer[] = [];
          const channel = {
            remote: '',
            pending: 0,
            write: (bytes: Uint8Array) => void written.push(Buffer.from(bytes)),
          };
          const rest = { pause() {}, resume() {}, end() {}, destroy() {} };
          const hooks = { wrote() {}, slow: () => expect.fail('slow') };
          const queue = new OutboundQueue({ ...channel, ...rest }, scheduler, new FabricMetrics(), 1 << 20, hooks);
          return { queue, written, wanted: [] as Buffer[] };
        });
        for (const [index, { client, kind, size }] of steps.entries()) {
          const head = Buffer.from(`<${index}>`);
          const text = Buffer.alloc(size, 65);
          const tail = { position: 1, rootLines: new Uint8Array(), bytes: text, start: 0, end: size };
          const given = kind === 'own' ? clients.slice(client, client + 1) : clients.slice(client);
          if (kind === 'flush') scheduler.flush();
          else if (kind === 'own') for (const { queue } of given) queue.addMessage(head, tail);
          else {
            const frame = scheduler.buffer.messageFrame(head, tail);
            for (const { queue } of given) queue.add(frame);
          }
          if (kind !== 'flush') for (const { wanted } of given) wanted.push(head, text);
        }
        scheduler.flush();
        for (const { written, wanted } of clients) {
          expect(Buffer.concat(written).toString()).toBe(Buffer.concat(wanted).toString());
        }
      }),
    );
  });
});

const memory = Buffer.alloc(4096);

/** Reads one frame, where the one before it was. */
function read(bytes: Uint8Array, show: (raw: RawFrame) => void): void {
  memory.set(bytes);
  new FrameParser(LIMITS, { frame: show }).push(memory.subarray(0, bytes.length));
}

function logged(headers: Headers, body: Uint8Array, position: number, atMs: number): LoggedEvent {
  return { position, atMs, event: newEvent(originOf('org', 'org/me', 'user'), headers, body) };
}
