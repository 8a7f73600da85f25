import { countDigits } from '../../event/tail.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { bytesOf, copyOf } from '../../stomp/bytes.js';
import { concat, headerLine } from '../../stomp/encode.js';
import { escapeHeader } from '../../stomp/escape.js';
import { invalidLine } from '../../stomp/frame-errors.js';
import type { RawFrame } from '../../stomp/raw-frame.js';

/** What a header of a SEND may be besides an attribute. `reserved`: only the root says it. */
type Kind = 'reserved' | (typeof OWN)[number];

const OWN = [
  ...(['type', 'destination', 'receipt', 'transaction', 'content-length', 'at'] as const),
  ...(['on-behalf', 'on-behalf-kind'] as const),
] as const;

const KINDS = new Map<string, Kind>();
for (const kind of OWN) KINDS.set(kind, kind);
const RESERVED = [
  'org',
  'source',
  'source-kind',
  'time',
  'message-id',
  'subscription',
  'ack',
  'position',
  'redelivered',
];
for (const name of RESERVED) KINDS.set(name, 'reserved');

interface Name {
  readonly codes: Uint8Array;
  readonly kind: Kind;
}

/** By length: most attributes are told from all of these by it. */
const NAMES: (readonly Name[] | undefined)[] = [];
for (const [name, kind] of KINDS) NAMES[name.length] = [...(NAMES[name.length] ?? []), { codes: bytesOf(name), kind }];

const LF = 10;

/**
 * The headers of a SEND, told apart without decoding any. One of these serves all frames, one after the other. Numbers
 * of headers are -1 where there is none; of several of one name the first counts.
 */
export class SendHeaderScan {
  type = -1;
  destination = -1;
  receipt = -1;
  transaction = -1;
  at = -1;
  onBehalf = -1;
  onBehalfKind = -1;
  reserved = -1;
  contentLength = -1;
  /** Where the lines of the attributes are in the frame's bytes, if `contiguous`. */
  linesStart = 0;
  linesEnd = 0;
  /** Bytes of these lines as they are forwarded, each with its LF. */
  linesSize = 0;
  /** The header of the first line, and how many lines. */
  first = -1;
  attributes = 0;
  /** The lines are in one piece, as they are forwarded. */
  contiguous = true;

  read(raw: RawFrame): void {
    this.type = -1;
    this.destination = -1;
    this.receipt = -1;
    this.transaction = -1;
    this.at = -1;
    this.onBehalf = -1;
    this.onBehalfKind = -1;
    this.reserved = -1;
    this.contentLength = -1;
    this.linesStart = raw.headEnd;
    this.linesEnd = raw.headEnd;
    this.linesSize = 0;
    this.first = -1;
    this.attributes = 0;
    this.contiguous = raw.rules !== 'trimmed' && !raw.crlf;
    for (let index = 0; index < raw.headerCount; index++) {
      const kind = kindOf(raw, index);
      if (kind === undefined) this.#attribute(raw, index);
      else this.#note(raw, index, kind);
    }
  }

  /** Whether from the first of the lines on the frame is as the rest of a tail must be. */
  isTail(raw: RawFrame): boolean {
    const { contentLength, linesEnd } = this;
    if (!this.contiguous || contentLength < 0) return false;
    const line = raw.headerOffsets[3 * contentLength] as number;
    const colon = raw.headerOffsets[3 * contentLength + 1] as number;
    const end = raw.headerOffsets[3 * contentLength + 2] as number;
    // The last line, right after the attributes, and without leading zeros or blanks.
    return line === linesEnd && end + 1 === raw.headEnd && end - colon - 1 === countDigits(raw.bodyEnd - raw.bodyStart);
  }

  /** The lines of the attributes in a piece of their own: verbatim, but for 1.0, which knows no escapes. */
  lines(raw: RawFrame): Uint8Array {
    const lines: Uint8Array[] = [];
    for (let index = 0; index < raw.headerCount; index++) {
      const kind = kindOf(raw, index);
      if (kind !== undefined && kind !== 'type') continue;
      lines.push(raw.rules === 'trimmed' ? escapedLine(raw, index) : lineOf(raw, index));
    }
    return concat(lines);
  }

  #note(raw: RawFrame, index: number, kind: Kind): void {
    switch (kind) {
      case 'type':
        if (this.type < 0) this.type = index;
        this.#attribute(raw, index);
        return;
      case 'destination':
        if (this.destination < 0) this.destination = index;
        return;
      case 'receipt':
        if (this.receipt < 0) this.receipt = index;
        return;
      case 'transaction':
        if (this.transaction < 0) this.transaction = index;
        return;
      case 'at':
        if (this.at < 0) this.at = index;
        return;
      case 'on-behalf':
        if (this.onBehalf < 0) this.onBehalf = index;
        return;
      case 'on-behalf-kind':
        if (this.onBehalfKind < 0) this.onBehalfKind = index;
        return;
      case 'content-length':
        if (this.contentLength < 0) this.contentLength = index;
        return;
      case 'reserved':
        if (this.reserved < 0) this.reserved = index;
    }
  }

  #attribute(raw: RawFrame, index: number): void {
    const start = raw.headerOffsets[3 * index] as number;
    const end = (raw.headerOffsets[3 * index + 2] as number) + 1;
    if (this.attributes === 0) {
      this.first = index;
      this.linesStart = start;
    } else if (start !== this.linesEnd) this.contiguous = false;
    this.linesEnd = end;
    this.linesSize += raw.rules === 'trimmed' ? escapedLine(raw, index).length : end - start;
    this.attributes += 1;
  }
}

function kindOf(raw: RawFrame, index: number): Kind | undefined {
  // 1.0 has blanks around names.
  if (raw.rules === 'trimmed') return KINDS.get(raw.nameOf(index));
  const { bytes, headerOffsets } = raw;
  const start = headerOffsets[3 * index] as number;
  const length = (headerOffsets[3 * index + 1] as number) - start;
  const names = NAMES[length];
  if (names === undefined) return undefined;
  for (const { codes, kind } of names) {
    let same = 0;
    while (same < length && bytes[start + same] === codes[same]) same++;
    if (same === length) return kind;
  }
  return undefined;
}

/**
 * A line of 1.0 as everybody else writes it.
 * @throws MusterError `stomp_invalid_header` for a name that nobody would read then.
 */
function escapedLine(raw: RawFrame, index: number): Uint8Array {
  const name = raw.nameOf(index);
  const { headerNameBytes } = FABRIC_LIMITS;
  const reason =
    name === ''
      ? 'has no name before its colon'
      : bytesOf(escapeHeader(name, '1.2')).length > headerNameBytes
        ? `has a name of more than ${headerNameBytes} bytes`
        : null;
  if (reason === null) return bytesOf(headerLine(name, raw.valueOf(index)));
  throw invalidLine(
    'SEND',
    raw.bytes,
    raw.headerOffsets[3 * index] as number,
    raw.headerOffsets[3 * index + 2] as number,
    reason,
  );
}

function lineOf(raw: RawFrame, index: number): Uint8Array {
  const line = copyOf(
    raw.bytes,
    raw.headerOffsets[3 * index] as number,
    (raw.headerOffsets[3 * index + 2] as number) + 1,
  );
  line[line.length - 1] = LF;
  return line;
}

/** Whether the value of a header is that text, of ASCII. */
export function isValue(raw: RawFrame, index: number, text: string): boolean {
  if (raw.rules === 'trimmed') return raw.valueOf(index) === text;
  const start = (raw.headerOffsets[3 * index + 1] as number) + 1;
  if ((raw.headerOffsets[3 * index + 2] as number) - start !== text.length) return false;
  for (let at = 0; at < text.length; at++) if (raw.bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}

const MOST_TYPE_BYTES = 128;
const TYPE = /^[A-Za-z0-9_.-]+$/;
const TYPE_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => (TYPE.test(String.fromCharCode(byte)) ? 1 : 0));

/** Whether the value of a header is a type: 1 to 128 of the characters A-Z a-z 0-9 _ . - */
export function isType(raw: RawFrame, index: number): boolean {
  if (raw.rules === 'trimmed') {
    const type = raw.valueOf(index);
    return type.length <= MOST_TYPE_BYTES && TYPE.test(type);
  }
  const start = (raw.headerOffsets[3 * index + 1] as number) + 1;
  const end = raw.headerOffsets[3 * index + 2] as number;
  if (end === start || end - start > MOST_TYPE_BYTES) return false;
  for (let at = start; at < end; at++) if (TYPE_BYTES[raw.bytes[at] as number] === 0) return false;
  return true;
}
