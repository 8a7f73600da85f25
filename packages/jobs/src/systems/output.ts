import { SYSTEM_LIMITS } from './limits.js';

/** What comes of a stream, as text, once it has ended. */
export function collect(stream: NodeJS.ReadableStream, tooMuch: () => void): () => string {
  const pieces: Buffer[] = [];
  let bytes = 0;
  stream.on('data', (piece: Buffer) => {
    bytes += piece.length;
    if (bytes <= SYSTEM_LIMITS.output) pieces.push(piece);
    else tooMuch();
  });
  return () => Buffer.concat(pieces).toString('utf8');
}

export function tookTooLong(program: string, timeoutMs: number): string {
  return `${program} did not end in ${timeoutMs} ms`;
}

export function printedTooMuch(program: string): string {
  return `${program} printed more than ${SYSTEM_LIMITS.output} bytes`;
}
