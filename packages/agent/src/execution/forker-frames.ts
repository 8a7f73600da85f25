import { FORKER_FRAME_BYTES } from '../limits.js';
import type { Launch } from './runner.js';

/**
 * What the agent and its forker (native/muster-forker.c) say to each other: the length of what follows in four bytes, a
 * letter, the number of a command in four bytes, and what the letter needs.
 */

const LENGTH = 4;
const HEAD = LENGTH + 5;

/** What a command is started with, besides what `Launch` says of it. */
export interface ForkPlace {
  /** Of the control group in which it is born. */
  readonly group: string | null;
  /** Whom it becomes; `Launch.account` may ask for it in another way. */
  readonly ids: { readonly uid?: number; readonly gid?: number };
}

/** Null: it cannot be said, as fields end with a zero byte, and a variable's name with its `=`. */
export function startFrame(id: number, request: Launch, { group, ids }: ForkPlace): Buffer | null {
  const { file, args, cwd, env, capture, input, third } = request;
  const fields = [
    group ?? '',
    input ?? '',
    capture ? '1' : '',
    third === undefined ? '' : '1',
    cwd ?? '',
    ids.uid ?? '',
    ids.gid ?? '',
    args.length,
    file,
    ...args,
  ];
  for (const [name, value] of Object.entries(env)) {
    if (name === '' || name.includes('=')) return null;
    fields.push(name, value);
  }
  const text = fields.join('\0');
  let zeros = 0;
  for (let at = text.indexOf('\0'); at >= 0; at = text.indexOf('\0', at + 1)) zeros += 1;
  return zeros === fields.length - 1 ? frame('S', id, text) : null;
}

/** The output of a command is not wanted any more. */
export function dropFrame(id: number): Buffer {
  return frame('D', id, '');
}

function frame(letter: string, id: number, text: string): Buffer {
  const bytes = Buffer.allocUnsafe(HEAD + Buffer.byteLength(text));
  bytes.writeUInt32BE(bytes.length - LENGTH, 0);
  bytes.write(letter, LENGTH, 'latin1');
  bytes.writeUInt32BE(id, LENGTH + 1);
  bytes.write(text, HEAD);
  return bytes;
}

/** What a forker tells. */
export type ForkerEvent =
  /** It is there. */
  | { readonly type: 'hello' }
  | { readonly type: 'born'; readonly id: number; readonly pid: number }
  /** Nothing of it has run. */
  | { readonly type: 'failed'; readonly id: number }
  /** What it wrote on this descriptor. */
  | { readonly type: 'output'; readonly id: number; readonly descriptor: number; readonly data: Buffer }
  /** It has ended; something else holds its output open. */
  | { readonly type: 'exited'; readonly id: number; readonly status: number }
  /** It has ended, and all of its output was told. */
  | { readonly type: 'over'; readonly id: number; readonly status: number };

/** Takes what a forker tells apart as it comes. */
export class ForkerReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws when it is no forker that talks. */
  *read(piece: Buffer): Generator<ForkerEvent> {
    let bytes = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece]);
    while (bytes.length >= LENGTH) {
      const end = LENGTH + bytes.readUInt32BE(0);
      if (end < HEAD || end > FORKER_FRAME_BYTES) throw new Error(`a frame of ${end} bytes`);
      if (bytes.length < end) break;
      yield eventOf(bytes.subarray(0, end));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}

function eventOf(frame: Buffer): ForkerEvent {
  const letter = frame.toString('latin1', LENGTH, LENGTH + 1);
  const id = frame.readUInt32BE(LENGTH + 1);
  switch (letter) {
    case 'H':
      return { type: 'hello' };
    case 'B':
      return { type: 'born', id, pid: frame.readUInt32BE(HEAD) };
    case 'F':
      return { type: 'failed', id };
    case 'X':
      return { type: 'exited', id, status: frame.readUInt32BE(HEAD) };
    case 'Z':
      return { type: 'over', id, status: frame.readUInt32BE(HEAD) };
    case '1':
    case '2':
    case '3':
      return { type: 'output', id, descriptor: Number(letter), data: frame.subarray(HEAD) };
    default:
      throw new Error(`a frame of kind '${letter}'`);
  }
}
