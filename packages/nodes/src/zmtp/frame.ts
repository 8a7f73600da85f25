/** Flags of a ZMTP 3 frame (RFC 23). */
export const MORE = 1;
export const LONG = 2;
export const COMMAND = 4;

const SHORT_MOST = 255;
const SHORT_HEADER = 2;
const LONG_HEADER = 9;

export function headerSize(bodyLength: number): number {
  return bodyLength > SHORT_MOST ? LONG_HEADER : SHORT_HEADER;
}

/** Writes the header of a frame; returns where its body begins. */
export function writeHeader(out: Buffer, at: number, flags: number, bodyLength: number): number {
  if (bodyLength > SHORT_MOST) {
    out[at] = flags | LONG;
    out.writeUInt32BE(0, at + 1);
    out.writeUInt32BE(bodyLength, at + 5);
    return at + LONG_HEADER;
  }
  out[at] = flags;
  out[at + 1] = bodyLength;
  return at + SHORT_HEADER;
}

export function encodeFrame(flags: number, body: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(headerSize(body.length) + body.length);
  out.set(body, writeHeader(out, 0, flags, body.length));
  return out;
}

/** A command: a short name, then its data. */
export function encodeCommand(name: string, ...data: readonly Uint8Array[]): Buffer {
  return encodeFrame(COMMAND, Buffer.concat([Buffer.from([name.length]), Buffer.from(name, 'latin1'), ...data]));
}

/** The data of a command, or null when it is another one. */
export function commandData(body: Buffer, name: string): Buffer | null {
  const end = 1 + name.length;
  if (body.length < end || body[0] !== name.length) return null;
  return body.toString('latin1', 1, end) === name ? body.subarray(end) : null;
}
