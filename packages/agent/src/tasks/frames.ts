import { FRAME_BYTES } from '../limits.js';

/**
 * Frames on the socket between the agent and a host: the length of the whole and of its JSON, four bytes each, the JSON,
 * and raw bytes. The JSON is a list of messages; raw bytes belong to the only message of their frame, as its `data`.
 */

const PREFIX = 8;

interface Message {
  readonly data?: Uint8Array;
}

/** The other side does not speak this protocol. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** Messages in their order, in as few frames as may be. */
export function writeFrames(messages: readonly (Message & object)[]): Uint8Array[] {
  const written: Uint8Array[] = [];
  let together: string[] = [];
  let length = 0;
  const close = (): void => {
    if (together.length > 0) written.push(...frame(`[${together.join(',')}]`, null));
    together = [];
    length = 0;
  };
  for (const message of messages) {
    const { data } = message;
    const text = JSON.stringify(data === undefined ? message : { ...message, data: undefined });
    if (data !== undefined) {
      close();
      written.push(...frame(`[${text}]`, data));
      continue;
    }
    // A character takes at most three bytes.
    if (length + text.length * 3 > FRAME_BYTES / 2) close();
    together.push(text);
    length += text.length * 3;
  }
  close();
  return written;
}

function frame(json: string, data: Uint8Array | null): Uint8Array[] {
  const size = Buffer.byteLength(json);
  const bytes = Buffer.allocUnsafe(PREFIX + size);
  bytes.writeUInt32BE(size + (data?.length ?? 0), 0);
  bytes.writeUInt32BE(size, 4);
  bytes.write(json, PREFIX);
  return data === null ? [bytes] : [bytes, data];
}

/** Takes frames apart as they come. */
export class FrameReader {
  #pieces: Buffer[] = [];
  #length = 0;
  /** Bytes of the frame that is being read; of its prefix, before that is known. */
  #needed = PREFIX;

  /** Messages of the frames that end in this piece. Throws FrameError. */
  read(piece: Buffer): unknown[] {
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length < this.#needed) return [];
    const messages: unknown[] = [];
    let bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces);
    for (;;) {
      this.#needed = PREFIX;
      if (bytes.length < PREFIX) break;
      const length = bytes.readUInt32BE(0);
      const size = bytes.readUInt32BE(4);
      if (length > FRAME_BYTES || size > length) throw new FrameError(`a frame of ${length} bytes, ${size} of JSON`);
      this.#needed = PREFIX + length;
      if (bytes.length < this.#needed) break;
      const data = bytes.subarray(PREFIX + size, this.#needed);
      messages.push(...parse(bytes.toString('utf8', PREFIX, PREFIX + size), data));
      bytes = bytes.subarray(this.#needed);
    }
    this.#pieces = bytes.length === 0 ? [] : [bytes];
    this.#length = bytes.length;
    return messages;
  }
}

function parse(json: string, data: Uint8Array): unknown[] {
  let values: unknown;
  try {
    values = JSON.parse(json);
  } catch (error) {
    throw new FrameError('a frame that is no JSON', { cause: error });
  }
  if (!Array.isArray(values)) throw new FrameError('a frame that is no list');
  return data.length === 0 ? values : values.map((value: object) => ({ ...value, data }));
}
