import { type ErrorCode, EXIT, errorRow, isErrorCode } from '@muster/base/errors';
import { MusterError } from '../../errors.js';
import { readRefusal } from '../../protocol/received-error.js';
import { type Headers, header } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';

/** Longer texts are not taken apart. */
const MOST = 8192;

/** What an ERROR frame says, as the error it was at the server. */
export function serverError(headers: Headers): MusterError {
  const text = header({ headers }, 'message') ?? 'it gave no reason';
  const code = header({ headers }, 'code') ?? '';
  if (!isErrorCode(code)) return new MusterError('fabric_refused', { reason: text });
  return known(code, text);
}

/** What the server has against a frame, when the connection goes on. */
export function refusalError(raw: RawFrame): MusterError {
  return (
    readRefusal(raw) ?? new MusterError('fabric_refused', { reason: raw.header('message') ?? 'it gave no reason' })
  );
}

/** Whether it fails now and may be taken later: a subscription is tried again then. */
export function isPassing({ exit }: MusterError): boolean {
  return exit === EXIT.unavailable;
}

/**
 * Whether another attempt to log in would fail as well. Brokers that are not ours have no codes; what they refuse
 * before CONNECTED is the login.
 */
export function isFinal(error: MusterError, beforeLogin: boolean): boolean {
  // Rights have changed while the login was on its way: whether it still holds is told to the next attempt.
  if (error.code === 'event_revoked') return false;
  return beforeLogin && (error.code === 'fabric_refused' || error.exit === EXIT.denied || error.exit === EXIT.usage);
}

/** The server wrote `MESSAGE. FIX` with the details filled in; they are found again by the templates. */
function known(code: ErrorCode, text: string): MusterError {
  const { message, fix } = errorRow(code);
  const details = text.length > MOST ? null : new RegExp(`^${pattern(`${message}. ${fix}`)}$`, 's').exec(text);
  const error = MusterError.told(code, details?.groups ?? {});
  // Of another version than ours, perhaps: then it is not taken apart.
  if (details === null) error.message = text;
  return error;
}

/** The template as an expression with a named group for each detail. */
function pattern(template: string): string {
  const seen = new Set<string>();
  return template.replace(/\{(\w+)\}|[\\^$.*+?()[\]{}|]/g, (found, name?: string) => {
    if (name === undefined) return `\\${found}`;
    if (seen.has(name)) return `\\k<${name}>`;
    seen.add(name);
    return `(?<${name}>.*?)`;
  });
}
