import { MusterError } from '../errors.js';
import { textOf } from './bytes.js';
import type { Command } from './commands.js';

const SHOWN_CHARACTERS = 64;

/** Received text as messages show it: in quotes, escaped, cut. */
export function quote(text: string): string {
  return JSON.stringify(text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text);
}

/** Of what is no STOMP, that much is quoted. */
const QUOTED = 16;

export function notStomp(bytes: Uint8Array, start: number, end: number): MusterError {
  return new MusterError('stomp_not_stomp', { found: quote(textOf(bytes, start, Math.min(end, start + QUOTED))) });
}

/** @param reason Goes on after "it". */
export function invalidFrame(command: Command, reason: string): MusterError {
  return new MusterError('stomp_invalid_frame', { command, reason });
}

/** @param line The header line between these places. @param reason Goes on after "it". */
export function invalidLine(
  command: Command,
  bytes: Uint8Array,
  start: number,
  end: number,
  reason: string,
): MusterError {
  return new MusterError('stomp_invalid_header', { command, line: quote(textOf(bytes, start, end)), reason });
}

export function invalidContentLength(command: Command, value: string): MusterError {
  return new MusterError('stomp_invalid_content_length', { command, value: quote(value) });
}

export function tooLarge(command: Command, what: string, limit: number, unit = 'bytes'): MusterError {
  return new MusterError('stomp_too_large', { command, what, limit: `${limit} ${unit}` });
}
