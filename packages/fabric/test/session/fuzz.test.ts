import { ManualClock } from '@muster/base';
import { type Channel, type ChannelHandlers, encodeFrame, frame } from '@muster/fabric';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RootFixture } from '../support/root-fixture.js';

/** A connection without a network. */
class Loose implements Channel {
  readonly remote = 'nowhere';
  readonly pending = 0;
  text = '';
  ended = false;
  readonly handlers: ChannelHandlers;

  constructor(given: RootFixture) {
    this.handlers = given.root.accept(this);
  }

  write(bytes: Uint8Array): void {
    expect(this.ended).toBe(false);
    this.text += Buffer.from(bytes).toString('latin1');
  }

  pause(): void {}
  resume(): void {}

  end(): void {
    this.ended = true;
    this.handlers.closed(null);
  }

  destroy(): void {
    this.end();
  }
}

const LOGIN = frame('CONNECT', [
  ['accept-version', '1.2'],
  ['login', 'default/a'],
  ['passcode', 'secret'],
]);
const turn = () => new Promise((resolve) => setImmediate(resolve));

const NAMES = [
  'destination',
  'id',
  'type',
  'receipt',
  'transaction',
  'selector',
  'ack',
  'from',
  'durable',
  'slow',
  'at',
];
const VALUES = ['/topic/events', '1', '2', 'a', "type = 'a'", 'client', 'first', '-1h', 'drop-oldest', '1-1', 't', ''];
const COMMANDS = [
  'SEND',
  'SUBSCRIBE',
  'UNSUBSCRIBE',
  'ACK',
  'NACK',
  'BEGIN',
  'COMMIT',
  'ABORT',
  'DISCONNECT',
  'CONNECT',
];
const header = fc.tuple(
  fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...NAMES) },
    { weight: 1, arbitrary: fc.stringMatching(/^[a-z-]{1,9}$/) },
  ),
  fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...VALUES) }, { weight: 1, arbitrary: fc.string({ maxLength: 9 }) }),
);
/** Mostly right, so that many frames are obeyed before one is refused. */
const usual = fc.constantFrom<[string, [string, string][]]>(
  [
    'SEND',
    [
      ['destination', '/topic/events'],
      ['type', 'a'],
    ],
  ],
  [
    'SEND',
    [
      ['destination', '/topic/events'],
      ['type', 'a'],
      ['transaction', 't'],
    ],
  ],
  [
    'SUBSCRIBE',
    [
      ['destination', '/topic/events'],
      ['id', '1'],
    ],
  ],
  [
    'SUBSCRIBE',
    [
      ['destination', '/topic/events'],
      ['id', '2'],
      ['ack', 'client'],
      ['durable', 'd'],
    ],
  ],
  [
    'SUBSCRIBE',
    [
      ['destination', '/topic/events'],
      ['id', '3'],
      ['from', 'first'],
      ['ack', 'client-individual'],
    ],
  ],
  ['UNSUBSCRIBE', [['id', '1']]],
  [
    'UNSUBSCRIBE',
    [
      ['id', '2'],
      ['durable', 'd'],
    ],
  ],
  ['ACK', [['id', '1-1']]],
  [
    'NACK',
    [
      ['id', '2-1'],
      ['transaction', 't'],
    ],
  ],
  ['BEGIN', [['transaction', 't']]],
  ['COMMIT', [['transaction', 't']]],
  ['ABORT', [['transaction', 't']]],
);
const anyFrame = fc.tuple(fc.constantFrom(...COMMANDS), fc.array(header, { maxLength: 5 }));
const sent = fc.oneof({ weight: 8, arbitrary: usual }, { weight: 1, arbitrary: anyFrame }).map(([command, headers]) =>
  Buffer.from(
    encodeFrame(
      frame(
        command,
        headers.filter(([name, value]) => !/[\0\n\r]/.test(name + value)),
      ),
    ),
  ),
);
const garbage = fc.uint8Array({ maxLength: 30 }).map((bytes) => Buffer.from(bytes));
const traffic = fc.array(fc.oneof({ weight: 20, arbitrary: sent }, { weight: 1, arbitrary: garbage }), {
  maxLength: 25,
});

test('whatever a client sends, nothing breaks: it is obeyed or gets an ERROR, its last frame', async () => {
  await fc.assert(
    fc.asyncProperty(
      traffic,
      fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 40 }),
      async (frames, cuts) => {
        const clock = new ManualClock();
        const given = new RootFixture({ clock });
        const [client, other] = [new Loose(given), new Loose(given)];
        for (const { handlers } of [client, other]) handlers.data(encodeFrame(LOGIN));
        await turn();
        other.handlers.data(
          encodeFrame(
            frame('SUBSCRIBE', [
              ['destination', '/topic/events'],
              ['id', 'o'],
              ['selector', "type = 'end'"],
            ]),
          ),
        );
        let rest = Buffer.concat(frames);
        for (let piece = 0; rest.length > 0; piece++) {
          const size = cuts[piece % cuts.length] ?? 1;
          client.handlers.data(rest.subarray(0, size));
          rest = rest.subarray(size);
          if (piece % 7 === 0) await turn();
        }
        for (let turns = 0; turns < 6; turns++) await turn();
        clock.advance(200);
        await turn();
        other.handlers.data(
          encodeFrame(
            frame('SEND', [
              ['destination', '/topic/events'],
              ['type', 'end'],
            ]),
          ),
        );
        for (let turns = 0; turns < 4; turns++) await turn();
        expect(other.text).toContain('\nsubscription:o\n');
        expect(other.ended).toBe(false);
        expect(given.lines.filter(({ level }) => level === 'error')).toEqual([]);
        const error = client.text.indexOf('ERROR\n');
        if (error >= 0) expect(client.text.indexOf('\0', error)).toBe(client.text.length - 1);
        if (client.ended) expect(given.root.subscriptions().subscriptions).toBe(1);
        await given.root.stop();
      },
    ),
    { numRuns: 300 },
  );
});
