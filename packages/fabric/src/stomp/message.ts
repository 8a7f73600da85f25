import { bytesOf } from './bytes.js';
import { concat, headerLine, headerLines } from './encode.js';
import type { StompVersion } from './frame.js';
import { FrameParser } from './parser.js';
import type { RawFrame } from './raw-frame.js';

/**
 * A MESSAGE is made of two pieces: a prefix that names the subscription, and a tail that is the same, byte for byte,
 * for every subscriber and on every relay.
 */
export function messagePrefix(subscription: string, ack?: string, version: StompVersion = '1.2'): Uint8Array {
  const line = headerLine('subscription', subscription, version);
  return bytesOf(`MESSAGE\n${line}${ack === undefined ? '' : headerLine('ack', ack, version)}`);
}

/** @param lines Header lines as on the wire, each with its line end; `content-length` is added. */
export function messageTail(lines: string, body: Uint8Array): Uint8Array {
  return concat([bytesOf(`${lines}content-length:${body.length}\n\n`), body, Uint8Array.of(0)]);
}

/** The tail of a received MESSAGE, verbatim: what is left without its `subscription` and `ack` lines. A copy. */
export function tailOf(raw: RawFrame): Uint8Array {
  const parts: Uint8Array[] = [];
  let from = raw.headStart;
  for (const index of [raw.find('subscription'), raw.find('ack')].filter((found) => found >= 0).sort((a, b) => a - b)) {
    parts.push(raw.bytes.subarray(from, raw.headerOffsets[3 * index] as number));
    from = index + 1 < raw.headerCount ? (raw.headerOffsets[3 * index + 3] as number) : raw.headEnd;
  }
  parts.push(raw.bytes.subarray(from, raw.end));
  return concat(parts);
}

/** The tail for a client of an older version, whose escapes differ. Mostly there are none, and it is the same tail. */
export function tailFor(tail: Uint8Array, version: StompVersion): Uint8Array {
  if (version === '1.2' || !differs(tail, version)) return tail;
  let made = tail;
  const size = tail.length + MESSAGE.length;
  const limits = { headBytes: size, bodyBytes: size, headers: Math.ceil(size / SHORTEST_LINE), headerNameBytes: size };
  const parser = new FrameParser(limits, {
    frame(raw) {
      const headers = raw.headers().filter(([name]) => name !== 'content-length');
      made = messageTail(headerLines(headers, version), raw.bytes.subarray(raw.bodyStart, raw.bodyEnd));
    },
  });
  parser.push(concat([MESSAGE, tail]));
  return made;
}

const MESSAGE = bytesOf('MESSAGE\n');
const LF = 10;
const BACKSLASH = 92;
const LOWER_R = 114;
/** `a:` and its line end. */
const SHORTEST_LINE = 3;

/** Whether the head has an escape that the version does not know: 1.1 knows all but one. */
function differs(tail: Uint8Array, version: StompVersion): boolean {
  let end = tail.indexOf(LF);
  while (end >= 0 && tail[end + 1] !== LF) end = tail.indexOf(LF, end + 1);
  const head = end < 0 ? tail.length : end;
  for (let at = tail.indexOf(BACKSLASH); at >= 0 && at < head; at = tail.indexOf(BACKSLASH, at + 2)) {
    if (version === '1.0' || tail[at + 1] === LOWER_R) return true;
  }
  return false;
}
