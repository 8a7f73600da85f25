import { MusterError } from '@muster/base';
import { encodeFrame, type Frame, FrameParser, type ParserLimits, type StompVersion } from '@muster/fabric';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytes, LIMITS, MOST_HELD, parse, split } from './support.js';

const ROOMY: ParserLimits = { headBytes: 100_000, bodyBytes: 100_000, headers: 64, headerNameBytes: 1000 };
const versions = fc.constantFrom<StompVersion>('1.0', '1.1', '1.2');
const withBody = ['SEND', 'MESSAGE', 'ERROR'];
const commands = fc.constantFrom(...withBody, 'ACK', 'SUBSCRIBE', 'CONNECTED', 'DISCONNECT');
const name = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
  .filter((any) => !/[\0\r\n:]|^\s|\s$/.test(any));
const value = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((any) => !/[\0\r\n]|^\s|\s$/.test(any));
const frames = fc
  .record({
    command: commands,
    headers: fc.array(fc.tuple(name, value), { maxLength: 8 }),
    body: fc.uint8Array({ maxLength: 300 }),
  })
  .map(
    ({ command, headers, body }): Frame => ({
      command,
      headers: headers.filter(([key]) => key !== 'content-length'),
      body: withBody.includes(command) ? body : new Uint8Array(0),
    }),
  );
const ends = fc.constantFrom('', '\n', '\r\n', '\n\n');

describe('any split of valid frames', () => {
  it('gives the same frames', () => {
    const written = fc.array(fc.tuple(frames, ends), { maxLength: 6 });
    fc.assert(
      fc.property(written, versions, fc.array(fc.nat(4000), { maxLength: 12 }), (sent, version, cuts) => {
        const data = Buffer.concat(sent.flatMap(([each, end]) => [encodeFrame(each, version), bytes(end)]));
        const got = parse(split(data, cuts), { version, limits: ROOMY }).frames;
        expect(
          got.map((each) => ({
            command: each.command,
            headers: each.headers.filter(([key]) => key !== 'content-length'),
            body: Array.from(each.body),
          })),
        ).toEqual(sent.map(([each]) => ({ ...each, body: Array.from(each.body) })));
      }),
    );
  });
});

/** Pieces out of which nearly valid frames arise. */
const pieces = fc.array(
  fc.oneof(
    fc.constantFrom('SEND', 'CONNECT', 'MESSAGE', 'ACK', 'type', 'content-length', '5', '-1', '256', '257'),
    fc.constantFrom(':', '\n', '\n\n', '\r\n', '\r', '\0', '\\', '\\c', '\ufeff', 'ä'),
    fc.string({ maxLength: 5 }),
    fc.constant('x'.repeat(200)),
  ),
  { maxLength: 60 },
);

function feed(
  data: Uint8Array,
  cuts: readonly number[],
  version: StompVersion,
): { outcome: string; frames: unknown[] } {
  const seen: unknown[] = [];
  let outcome = 'taken';
  const parser = new FrameParser(LIMITS, {
    frame: (raw) => void seen.push({ ...raw.frame(), body: Array.from(raw.body()) }),
  });
  parser.version = version;
  try {
    for (const chunk of split(data, cuts)) {
      parser.push(chunk);
      expect(parser.buffered).toBeLessThan(MOST_HELD);
    }
  } catch (error) {
    if (!(error instanceof MusterError) || !error.code.startsWith('stomp_')) throw error;
    outcome = error.code;
  }
  return { outcome, frames: seen };
}

describe('arbitrary bytes', () => {
  it('never do more than be refused as STOMP, and are never held beyond the limit', () => {
    const cuts = fc.array(fc.nat(2000), { maxLength: 8 });
    fc.assert(fc.property(fc.uint8Array({ maxLength: 3000 }), cuts, versions, (data, at, v) => void feed(data, at, v)));
    fc.assert(
      fc.property(pieces, cuts, versions, (made, at, v) => void feed(bytes(made.join('')), at, v)),
      {
        numRuns: 2000,
      },
    );
    fc.assert(
      fc.property(pieces, cuts, versions, (made, at, v) => void feed(bytes(`SEND\n${made.join('')}`), at, v)),
      { numRuns: 2000 },
    );
  });

  it('mean the same however they are split', () => {
    fc.assert(
      fc.property(pieces, fc.array(fc.nat(2000), { maxLength: 8 }), versions, (made, cuts, version) => {
        const data = bytes(`SEND\n${made.join('')}`);
        expect(feed(data, cuts, version)).toEqual(feed(data, [], version));
      }),
      { numRuns: 2000 },
    );
  });
});
