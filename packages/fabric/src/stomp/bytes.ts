/**
 * Text and bytes. In Node its Buffer is faster than the web's own means; nothing else in the codec knows of it, so that
 * the codec runs in browsers too.
 */
const node: typeof Buffer | undefined = globalThis.Buffer;
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const checker = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });
const encoder = new TextEncoder();

/** The content is arbitrary: every byte must be written before it is shown to anybody. */
export function allocate(size: number): Uint8Array {
  return node === undefined ? new Uint8Array(size) : node.allocUnsafe(size);
}

/** `ascii`: the caller has seen that no byte is above 127. */
export function textOf(bytes: Uint8Array, start: number, end: number, ascii = false): string {
  if (node === undefined) return decoder.decode(bytes.subarray(start, end));
  const buffer = node.isBuffer(bytes) ? bytes : node.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return buffer.toString(ascii ? 'latin1' : 'utf8', start, end);
}

export function bytesOf(text: string): Uint8Array {
  return node === undefined ? encoder.encode(text) : node.from(text, 'utf8');
}

export function isUtf8(bytes: Uint8Array, start: number, end: number): boolean {
  try {
    checker.decode(bytes.subarray(start, end));
    return true;
  } catch {
    return false;
  }
}

/** The same bytes in memory of their own. */
export function copyOf(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const copy = allocate(end - start);
  copy.set(bytes.subarray(start, end));
  return copy;
}

/** For so few bytes a loop is faster than a call out of JavaScript. */
const FEW = 40;

/** Copies bytes from one place into another. @returns where the next may go. */
export function copyInto(into: Uint8Array, at: number, from: Uint8Array, start: number, end: number): number {
  const size = end - start;
  if (size > FEW) into.set(new Uint8Array(from.buffer, from.byteOffset + start, size), at);
  else for (let index = 0; index < size; index++) into[at + index] = from[start + index] as number;
  return at + size;
}
