import type { Selectable } from 'kysely';
import type { Schema } from './schema.js';
import { append } from './statements.js';
import type { Write } from './types.js';

type EventRow = Selectable<Schema['event_log']>;

/**
 * The column `frames` of `event_log`: events in the order of their positions, each
 *
 * | bytes | what |
 * |---|---|
 * | 4 | length of all that follows |
 * | 8 | position, a double |
 * | 8 | time in milliseconds since the epoch, a double |
 * | 2 | length of the source |
 * | 4 | length of the header lines |
 * | | source; header lines, each with its LF; body |
 *
 * Numbers are big-endian. It is stored, and migration 2 writes it: a change takes another migration.
 */
const HEAD = 26;

/** Of one row. More bytes of one transaction make further rows. */
const CHUNK_BYTES = 1_048_576;

/** Where an event's header lines and body are. */
export interface EventContent {
  readonly bytes: Uint8Array;
  readonly linesStart: number;
  readonly linesEnd: number;
  readonly bodyStart: number;
  readonly bodyEnd: number;
}

export interface ChunkEvent extends EventContent {
  readonly position: number;
  readonly at: number;
  readonly source: string;
}

/** Bytes of an event in `frames`. */
export function sizeOfEvent(source: string, { linesStart, linesEnd, bodyStart, bodyEnd }: EventContent): number {
  return HEAD + Buffer.byteLength(source) + (linesEnd - linesStart) + (bodyEnd - bodyStart);
}

interface Placed {
  readonly position: number;
  readonly at: number;
}

/** Writes one event and returns where the next may begin. */
export function writeEvent(
  target: Buffer,
  offset: number,
  placed: Placed & { readonly source: string },
  { bytes, linesStart, linesEnd, bodyStart, bodyEnd }: EventContent,
): number {
  const from = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const lines = offset + HEAD + target.write(placed.source, offset + HEAD);
  const body = lines + from.copy(target, lines, linesStart, linesEnd);
  const end = body + from.copy(target, body, bodyStart, bodyEnd);
  writeLengths(target, offset, lines, body, end);
  placeEvent(target, offset, placed);
  return end;
}

/** An event as it is stored, but for its place: `placeEvent` gives it one. */
export interface EventFrame extends EventContent {
  readonly bytes: Buffer;
  /** Where in `bytes` the event is. */
  readonly start: number;
  readonly end: number;
}

/** Many small events share a block: memory of its own would cost each of them more than all the rest. */
const BLOCK_BYTES = 65_536;
/** Bytes that one character may take. */
const CHARACTER_BYTES = 3;
let block = Buffer.alloc(0);
let used = 0;

export function frameEvent(source: string, lines: string, body: string): EventFrame {
  const text = source + lines + body;
  const most = HEAD + CHARACTER_BYTES * text.length;
  if (used + most > block.length) {
    block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES));
    used = 0;
  }
  const bytes = block;
  const start = used;
  const size = bytes.write(text, start + HEAD);
  // Mostly all of it is ASCII.
  const ascii = size === text.length;
  const linesStart = start + HEAD + (ascii ? source.length : Buffer.byteLength(source));
  const linesEnd = linesStart + (ascii ? lines.length : Buffer.byteLength(lines));
  const end = start + HEAD + size;
  writeLengths(bytes, start, linesStart, linesEnd, end);
  used = end;
  return { bytes, start, end, linesStart, linesEnd, bodyStart: linesEnd, bodyEnd: end };
}

/** @param offset Where the event begins. */
export function placeEvent(target: Buffer, offset: number, { position, at }: Placed): void {
  target.writeDoubleBE(position, offset + 4);
  target.writeDoubleBE(at, offset + 12);
}

/** `lines`, `body`: where they begin; `end`: where the event ends. */
function writeLengths(target: Buffer, offset: number, lines: number, body: number, end: number): void {
  target.writeUInt32BE(end - offset - 4, offset);
  target.writeUInt16BE(lines - offset - HEAD, offset + 20);
  target.writeUInt32BE(body - lines, offset + 22);
}

/** The events of one row beyond a position, at most so many; they refer to its bytes. */
export function readEvents(frames: Uint8Array, after = 0, most = Number.POSITIVE_INFINITY): ChunkEvent[] {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  const events: ChunkEvent[] = [];
  for (let offset = 0; offset < bytes.length && events.length < most; ) {
    const end = offset + 4 + bytes.readUInt32BE(offset);
    const position = bytes.readDoubleBE(offset + 4);
    if (position <= after) {
      offset = end;
      continue;
    }
    const linesStart = offset + HEAD + bytes.readUInt16BE(offset + 20);
    const linesEnd = linesStart + bytes.readUInt32BE(offset + 22);
    events.push({
      position,
      at: bytes.readDoubleBE(offset + 12),
      source: bytes.toString('utf8', offset + HEAD, linesStart),
      bytes,
      linesStart,
      linesEnd,
      bodyStart: linesEnd,
      bodyEnd: end,
    });
    offset = end;
  }
  return events;
}

/** Events that were handed in together, of one organization and subject. */
export type EventPart = {
  /** Positions of its first and its last event. */
  readonly first: number;
  readonly last: number;
  readonly at: number;
  readonly org_id: string;
  readonly subject: string | null;
  /** Its events are the bytes of `frames` from `start` to `end`. */
  readonly frames: Buffer;
  readonly start: number;
  readonly end: number;
};

interface Chunk {
  readonly parts: EventPart[];
  bytes: number;
}

/**
 * Makes few rows of what one transaction appends to `event_log`: one for each organization and subject, unless it
 * becomes too large. They overlap in their positions, but never with those of another transaction; `floor`, the first
 * position of all of them, tells which belong together.
 */
export function eventRows(parts: readonly EventPart[]): EventRow[] {
  const chunks: Chunk[] = [];
  const open = new Map<string, Chunk>();
  let chunk: Chunk | undefined;
  let before: EventPart | undefined;
  let floor = Number.POSITIVE_INFINITY;
  for (const part of parts) {
    const { org_id: org, subject } = part;
    const bytes = part.end - part.start;
    if (before === undefined || before.subject !== subject || before.org_id !== org) {
      chunk = open.get(`${org} ${subject ?? ''}`);
    }
    if (chunk === undefined || chunk.bytes + bytes > CHUNK_BYTES) {
      chunk = { parts: [], bytes: 0 };
      chunks.push(chunk);
      open.set(`${org} ${subject ?? ''}`, chunk);
    }
    chunk.parts.push(part);
    chunk.bytes += bytes;
    floor = Math.min(floor, part.first);
    before = part;
  }
  return chunks.map((one) => rowOf(one, floor));
}

function rowOf({ parts, bytes }: Chunk, floor: number): EventRow {
  const [{ first, org_id, subject, at }] = parts as [EventPart, ...EventPart[]];
  const frames = Buffer.allocUnsafeSlow(bytes);
  const row = { first, last: first, floor, at_first: at, at_last: at, org_id, subject, bytes, frames };
  let offset = 0;
  for (const part of parts) {
    offset += part.frames.copy(frames, offset, part.start, part.end);
    row.last = part.last;
    row.at_first = Math.min(row.at_first, part.at);
    row.at_last = Math.max(row.at_last, part.at);
  }
  return row;
}

/** Appends to the log within a group commit. */
export const appendEvents: (part: EventPart) => Write = append(
  'event_log',
  {
    first: 'integer',
    last: 'integer',
    floor: 'integer',
    at_first: 'integer',
    at_last: 'integer',
    org_id: 'text',
    subject: 'text',
    bytes: 'integer',
    frames: 'bytes',
  },
  {
    rows: (parts) => eventRows(parts as readonly EventPart[]),
    bytes: (part) => (part as EventPart).end - (part as EventPart).start,
  },
);
