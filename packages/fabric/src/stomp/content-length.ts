import { textOf } from './bytes.js';
import type { Command } from './commands.js';
import { invalidContentLength } from './frame-errors.js';

const NAME = Uint8Array.from('content-length', (char) => char.charCodeAt(0));
const ZERO = 48;
const USUAL_DIGITS = 9;

/** Whether that is the name of the header between these places. */
export function isContentLength(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== NAME.length) return false;
  for (let at = 0; at < NAME.length; at++) if (bytes[start + at] !== NAME[at]) return false;
  return true;
}

/** @throws MusterError `stomp_invalid_content_length` for what is no decimal number. */
export function readContentLength(command: Command, bytes: Uint8Array, start: number, end: number): number {
  return usual(bytes, start, end) ?? unusual(command, textOf(bytes, start, end));
}

/** Without making text of it; null for what must be looked at more closely. */
function usual(bytes: Uint8Array, start: number, end: number): number | null {
  if (end === start || end - start > USUAL_DIGITS) return null;
  let number = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return null;
    number = 10 * number + digit;
  }
  return number;
}

/** With blanks around it, as in 1.0; or very long; or wrong. */
function unusual(command: Command, text: string): number {
  if (/^[0-9]+$/.test(text.trim())) return Number(text);
  throw invalidContentLength(command, text);
}
