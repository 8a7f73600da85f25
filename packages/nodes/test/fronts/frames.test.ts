import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  encodeLink,
  IDENTITY_BYTES,
  LINK_LIMITS,
  LINK_PROTOCOL,
  LinkError,
  type LinkMessage,
  LinkReader,
} from '../../src/fronts/frames.js';

const bytes = (size: number) => fc.uint8Array({ minLength: size, maxLength: size }).map((of) => Buffer.from(of));
const frames = fc
  .tuple(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ maxLength: 40 }))
  .map(([header, body]) => [Buffer.from(header), Buffer.from(body)] as const);
const text = fc.string({ minLength: 1, maxLength: 20 });
const word = fc.nat(0xffff_ffff);
const message: fc.Arbitrary<LinkMessage> = fc.oneof(
  fc.record({
    kind: fc.constant('hello' as const),
    hello: fc.record({
      protocol: fc.constant(LINK_PROTOCOL),
      ...{ incarnation: text, name: text, heartbeat: text, command: text, curvePublicKey: text },
    }),
  }),
  fc.record({ kind: fc.constant('admit' as const), number: word, forMs: word, curveKey: bytes(32) }),
  fc.record({ kind: fc.constant('admitted' as const), number: word }),
  fc.record({ kind: fc.constant('message' as const), identity: bytes(IDENTITY_BYTES), frames }),
  fc.record({ kind: fc.constant('publish' as const), frames }),
  fc.record({ kind: fc.constant('hang up' as const), identity: bytes(IDENTITY_BYTES) }),
);

describe('what servers of a cluster say of nodes', () => {
  test('is read as it was written, however the stream is cut', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.nat(60), { maxLength: 40 }), (said, cuts) => {
        const stream = Buffer.concat(said.map(encodeLink));
        const reader = new LinkReader();
        const heard: LinkMessage[] = [];
        let at = 0;
        for (const size of [...cuts, stream.length]) {
          heard.push(...reader.read(stream.subarray(at, at + size)));
          at = Math.min(stream.length, at + size);
        }
        expect(heard).toEqual(said);
      }),
    );
  });

  test('is refused in one way, whatever comes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (garbage) => {
        try {
          for (const _ of new LinkReader().read(Buffer.from(garbage)));
        } catch (error) {
          expect(error).toBeInstanceOf(LinkError);
        }
      }),
    );
  });

  test('has a largest message, which is refused by its length', () => {
    const head = Buffer.alloc(5);
    head.writeUInt32BE(LINK_LIMITS.messageBytes + 1);
    expect(() => [...new LinkReader().read(head)]).toThrow(LinkError);
  });

  test('of another version is refused', () => {
    const hello = { protocol: 2, incarnation: 'i', name: 'n', heartbeat: 'h', command: 'c', curvePublicKey: 'k' };
    const bytes = encodeLink({ kind: 'hello', hello: hello as never });
    expect(() => [...new LinkReader().read(bytes)]).toThrow('another version');
  });
});
