import { MusterError } from '../errors.js';
import { allocate, bytesOf } from './bytes.js';
import { escapeHeader } from './escape.js';
import type { Frame, Headers, StompVersion } from './frame.js';

const NUL = Uint8Array.of(0);

/**
 * The frame as it goes over the wire, with the content-length of its body; one that is among the headers is left out.
 * @throws MusterError `stomp_invalid_frame` for a NUL in a header, which nothing can express.
 */
export function encodeFrame(frame: Frame, version: StompVersion = '1.2'): Uint8Array {
  const plain = frame.command === 'CONNECT' || frame.command === 'STOMP' || frame.command === 'CONNECTED';
  let head = `${frame.command}\n`;
  for (const [name, value] of frame.headers) {
    if (name === 'content-length') continue;
    head += plain ? plainLine(frame.command, name, value) : headerLine(name, value, version);
  }
  if (head.includes('\0')) {
    throw new MusterError('stomp_invalid_frame', { command: frame.command, reason: 'has a NUL in a header' });
  }
  const { body } = frame;
  return concat([bytesOf(body.length > 0 ? `${head}content-length:${body.length}\n\n` : `${head}\n`), body, NUL]);
}

/** `name:value` and its line end, escaped. */
export function headerLine(name: string, value: string, version: StompVersion = '1.2'): string {
  return `${escapeHeader(name, version)}:${escapeHeader(value, version)}\n`;
}

export function headerLines(headers: Headers, version: StompVersion = '1.2'): string {
  let lines = '';
  for (const [name, value] of headers) lines += headerLine(name, value, version);
  return lines;
}

/** These frames have no escapes: what would make a line of its own is refused. */
function plainLine(command: string, name: string, value: string): string {
  if (/[\n\r:]/.test(name) || /[\n\r]/.test(value)) {
    throw new MusterError('stomp_invalid_frame', {
      command,
      reason: 'has a line end in a header, or a colon in a name',
    });
  }
  return `${name}:${value}\n`;
}

/** One piece of memory with all of them, in order. */
export function concat(parts: readonly Uint8Array[]): Uint8Array {
  let size = 0;
  for (const part of parts) size += part.length;
  const bytes = allocate(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
