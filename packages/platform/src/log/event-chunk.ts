import type { Origin, SourceKind } from '@muster/fabric';
import { append, type Schema, type Write } from '@muster/store';
import type { Selectable } from 'kysely';

type StoredRow = Selectable<Schema['event_log']>;

/**
 * The column `frames` of `event_log`: runs of events, in the order of their positions. The events of a run have one
 * source of one kind, one time, and positions that follow each other. Positions are known when the events are stored,
 * and not before: a run tells its place in the transaction, which is added to the first position of that, `floor`:
 *
 * | bytes | what |
 * |---|---|
 * | 4 | length of all that follows |
 * | 8 | place of the first event in the transaction, counted from 0, a double |
 * | 8 | time in milliseconds since the epoch, a double |
 * | 2 | length of the source |
 * | 4 | how many events |
 * | 1 | kind of the source: its place in `KINDS` |
 * | 12 for each | length of the event, of its header lines, and of its body |
 * | | source; the events |
 *
 * An event is its header lines, each with its LF, and its body. Or it is, as most are received, all that ends a frame:
 * header lines, content-length, blank line, body and NUL; then it is longer than its header lines and its body.
 *
 * Numbers are big-endian. It is stored: a change takes a migration.
 */
const HEAD = 27;
const ENTRY = 12;
/** Their places are stored. */
const KINDS: readonly SourceKind[] = ['server', 'user', 'node', 'service'];

/** Who published an event. */
type Publisher = Pick<Origin, 'source' | 'kind'>;

/** Of one row. More bytes of one transaction make further rows. */
const CHUNK_BYTES = 1_048_576;

/** Where an event's header lines and body are. */
export interface EventContent {
  readonly bytes: Uint8Array;
  readonly linesStart: number;
  readonly linesEnd: number;
  readonly bodyStart: number;
  readonly bodyEnd: number;
  /** Set when the bytes from `linesStart` up to here are all that ends a frame. */
  readonly tailEnd?: number | undefined;
}

export interface ChunkEvent extends EventContent {
  readonly position: number;
  readonly at: number;
  readonly source: string;
  readonly kind: SourceKind;
}

/** Bytes of a run in `frames`, without its events. */
export function sizeOfRun(source: string): number {
  return HEAD + Buffer.byteLength(source);
}

/** Bytes that an event adds to a run. */
export function sizeOfEvent(event: EventContent): number {
  return ENTRY + lengthOf(event);
}

function lengthOf({ linesStart, linesEnd, bodyStart, bodyEnd, tailEnd }: EventContent): number {
  return tailEnd === undefined ? linesEnd - linesStart + bodyEnd - bodyStart : tailEnd - linesStart;
}

/** Of the first event, and the time. */
interface Placed {
  readonly place: number;
  readonly at: number;
}

/** Writes the events from `from` up to `to` as one run and returns where the next may begin. */
export function writeRun(
  target: Buffer,
  offset: number,
  placed: Placed & Publisher,
  events: readonly EventContent[],
  from = 0,
  to = events.length,
): number {
  let entry = offset + HEAD;
  const source = entry + ENTRY * (to - from);
  const first = source + target.write(placed.source, source);
  let at = first;
  for (let index = from; index < to; index++) {
    const event = events[index] as EventContent;
    const { bytes, linesStart, linesEnd, bodyStart, bodyEnd, tailEnd } = event;
    const start = at;
    if (tailEnd !== undefined) at = copy(target, at, bytes, linesStart, tailEnd);
    else at = copy(target, copy(target, at, bytes, linesStart, linesEnd), bytes, bodyStart, bodyEnd);
    writeEntry(target, entry, at - start, linesEnd - linesStart, bodyEnd - bodyStart);
    entry += ENTRY;
  }
  writeHead(target, offset, { end: at, sourceLength: first - source, events: to - from, kind: placed.kind });
  placeRun(target, offset, placed);
  return at;
}

/** There are many, and `Buffer.copy` looks at its arguments for longer than it copies. */
function copy(target: Buffer, at: number, bytes: Uint8Array, start: number, end: number): number {
  target.set(new Uint8Array(bytes.buffer, bytes.byteOffset + start, end - start), at);
  return at + end - start;
}

/** An event as it is stored, a run of its own, but for its place: `placeRun` gives it one. */
export interface EventFrame<P extends Publisher = Publisher> extends EventContent {
  readonly origin: P;
  readonly bytes: Buffer;
  /** Where in `bytes` the run is. */
  readonly start: number;
  readonly end: number;
}

/** Many small events share a block: memory of its own would cost each of them more than all the rest. */
const BLOCK_BYTES = 65_536;
/** Bytes that one character may take. */
const CHARACTER_BYTES = 3;
let block = Buffer.alloc(0);
let used = 0;

export function frameEvent<P extends Publisher>(origin: P, lines: string, body: string): EventFrame<P> {
  const { source, kind } = origin;
  const text = source + lines + body;
  const most = HEAD + ENTRY + CHARACTER_BYTES * text.length;
  if (used + most > block.length) {
    block = Buffer.allocUnsafeSlow(Math.max(most, BLOCK_BYTES));
    used = 0;
  }
  const bytes = block;
  const start = used;
  const sourceStart = start + HEAD + ENTRY;
  const size = bytes.write(text, sourceStart);
  // Mostly all of it is ASCII.
  const ascii = size === text.length;
  const linesStart = sourceStart + (ascii ? source.length : Buffer.byteLength(source));
  const linesEnd = linesStart + (ascii ? lines.length : Buffer.byteLength(lines));
  const end = sourceStart + size;
  writeEntry(bytes, start + HEAD, end - linesStart, linesEnd - linesStart, end - linesEnd);
  writeHead(bytes, start, { end, sourceLength: linesStart - sourceStart, events: 1, kind });
  used = end;
  return { origin, bytes, start, end, linesStart, linesEnd, bodyStart: linesEnd, bodyEnd: end };
}

/** @param offset Where the run begins. */
export function placeRun(target: Buffer, offset: number, { place, at }: Placed): void {
  target.writeDoubleBE(place, offset + 4);
  target.writeDoubleBE(at, offset + 12);
}

/** All runs from `start` up to `end` get places that are greater by so many. */
function moveRuns(target: Buffer, start: number, end: number, by: number): void {
  for (let run = start; run < end; run += 4 + target.readUInt32BE(run)) {
    target.writeDoubleBE(target.readDoubleBE(run + 4) + by, run + 4);
  }
}

interface RunHead {
  /** Where the run ends. */
  readonly end: number;
  readonly sourceLength: number;
  readonly events: number;
  readonly kind: SourceKind;
}

/** All but its place. */
function writeHead(target: Buffer, offset: number, { end, sourceLength, events, kind }: RunHead): void {
  target.writeUInt32BE(end - offset - 4, offset);
  target.writeUInt16BE(sourceLength, offset + 20);
  target.writeUInt32BE(events, offset + 22);
  target.writeUInt8(KINDS.indexOf(kind), offset + 26);
}

function writeEntry(target: Buffer, offset: number, length: number, lines: number, body: number): void {
  target.writeUInt32BE(length, offset);
  target.writeUInt32BE(lines, offset + 4);
  target.writeUInt32BE(body, offset + 8);
}

/** What is read of a row. */
export type EventFrames = Pick<StoredRow, 'floor' | 'frames'>;

/** The events of one row beyond a position, at most so many; they refer to its bytes. */
export function readEvents({ floor, frames }: EventFrames, after = 0, most = Number.POSITIVE_INFINITY): ChunkEvent[] {
  const bytes = Buffer.from(frames.buffer, frames.byteOffset, frames.byteLength);
  const found: ChunkEvent[] = [];
  for (let offset = 0; offset < bytes.length && found.length < most; ) {
    const end = offset + 4 + bytes.readUInt32BE(offset);
    const first = floor + bytes.readDoubleBE(offset + 4);
    const last = first + bytes.readUInt32BE(offset + 22) - 1;
    if (last > after) readRun(bytes, offset, { first, last, after, most }, found);
    offset = end;
  }
  return found;
}

interface Wanted {
  readonly first: number;
  readonly last: number;
  readonly after: number;
  readonly most: number;
}

function readRun(bytes: Buffer, offset: number, { first, last, after, most }: Wanted, found: ChunkEvent[]): void {
  const at = bytes.readDoubleBE(offset + 12);
  let entry = offset + HEAD;
  const sourceStart = entry + ENTRY * (last - first + 1);
  let linesStart = sourceStart + bytes.readUInt16BE(offset + 20);
  const source = bytes.toString('utf8', sourceStart, linesStart);
  const kind = kindAt(bytes, offset + 26);
  for (let position = first; position <= last && found.length < most; position++) {
    const length = bytes.readUInt32BE(entry);
    const linesEnd = linesStart + bytes.readUInt32BE(entry + 4);
    const body = bytes.readUInt32BE(entry + 8);
    const end = linesStart + length;
    const tailEnd = end === linesEnd + body ? undefined : end;
    const bodyEnd = tailEnd === undefined ? end : end - 1;
    if (position > after) {
      const bodyStart = bodyEnd - body;
      found.push({ position, at, source, kind, bytes, linesStart, linesEnd, bodyStart, bodyEnd, tailEnd });
    }
    entry += ENTRY;
    linesStart = end;
  }
}

function kindAt(bytes: Buffer, offset: number): SourceKind {
  const kind = KINDS[bytes.readUInt8(offset)];
  if (kind === undefined) throw new Error(`kind ${bytes.readUInt8(offset)} of a source in the log is unknown`);
  return kind;
}

/** Events that were handed in together, of one organization and subject. */
export type EventPart = {
  /** How many. */
  readonly count: number;
  readonly at: number;
  readonly org_id: string;
  readonly subject: string | null;
  /** Its events are the bytes of `frames` from `start` to `end`, with their places in this part. */
  readonly frames: Buffer;
  readonly start: number;
  readonly end: number;
};

interface Chunk {
  readonly parts: { readonly part: EventPart; readonly place: number }[];
  bytes: number;
}

/**
 * Makes few rows of what one transaction appends to `event_log`: one for each organization and subject, unless it
 * becomes too large. They overlap in their positions, but never with those of another transaction; `floor`, the first
 * position of all of them, tells which belong together. Positions are counted from 0: the first one is given later.
 */
function eventRows(parts: readonly EventPart[]): StoredRow[] {
  const chunks: Chunk[] = [];
  const open = new Map<string, Chunk>();
  let chunk: Chunk | undefined;
  let before: EventPart | undefined;
  let place = 0;
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
    chunk.parts.push({ part, place });
    chunk.bytes += bytes;
    place += part.count;
    before = part;
  }
  return chunks.map(rowOf);
}

function rowOf({ parts, bytes }: Chunk): StoredRow {
  const [{ part: begin, place: first }] = parts as [Chunk['parts'][number]];
  const { org_id, subject, at } = begin;
  const frames = Buffer.allocUnsafeSlow(bytes);
  const row = { first, last: first, floor: 0, at_first: at, at_last: at, org_id, subject, bytes, frames };
  let offset = 0;
  for (const { part, place } of parts) {
    const start = offset;
    offset += part.frames.copy(frames, offset, part.start, part.end);
    moveRuns(frames, start, offset, place);
    row.last = place + part.count - 1;
    row.at_first = Math.min(row.at_first, part.at);
    row.at_last = Math.max(row.at_last, part.at);
  }
  return row;
}

/** Appends to the log. `numbered` is told the position of the first event of the part. */
export const appendEvents: (part: EventPart, numbered?: Write['numbered']) => Write = append(
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
    numbers: (part) => (part as EventPart).count,
    numbered: ['first', 'last', 'floor'],
  },
);
