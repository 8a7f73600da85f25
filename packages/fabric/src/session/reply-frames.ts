import type { MusterError } from '../errors.js';
import type { EventAccess, TypeRules } from '../event/access.js';
import { FABRIC_LIMITS } from '../limits.js';
import { bytesOf } from '../stomp/bytes.js';
import { encodeFrame, headerLines } from '../stomp/encode.js';
import { escapeHeader } from '../stomp/escape.js';
import { frame, type Headers, type StompVersion } from '../stomp/frame.js';

export interface Connected {
  readonly version: StompVersion;
  readonly server: string;
  readonly session: number;
  /** Of heart-beats, offered both ways. */
  readonly idleMs: number;
  readonly access: EventAccess;
  readonly eventBytes: number;
  /** What it may follow, if it asked. */
  readonly follow: TypeRules | null;
}

export function connectedFrame({
  version,
  server,
  session,
  idleMs,
  access,
  eventBytes,
  follow,
}: Connected): Uint8Array {
  const headers: [string, string][] = [
    ['version', version],
    ['server', server],
    ['session', String(session)],
    ['heart-beat', `${idleMs},${idleMs}`],
  ];
  // What relays must know, those of agents too, so that they take nothing from their clients that would be refused
  // here.
  headers.push(['max-event', String(eventBytes)]);
  if (access.relay) headers.push(['relay', 'true']);
  const rules = follow === null ? '' : JSON.stringify(follow);
  // Of so many grants it is not told: then it learns from silence.
  if (rules !== '' && rules.length <= FABRIC_LIMITS.followBytes) headers.push(['follow', rules]);
  return encodeFrame(frame('CONNECTED', headers), version);
}

/** @param more Further headers: most have none. */
export function receiptFrame(id: string, more: Headers, version: StompVersion): Uint8Array {
  const lines = more.length === 0 ? '' : headerLines(more, version);
  // What was asked for in a header has no NUL.
  return bytesOf(`RECEIPT\nreceipt-id:${escapeHeader(id, version)}\n${lines}\n\0`);
}

/** The last frame of a connection: what was wrong, what to do, and a code for programs. */
export function errorFrame(error: MusterError, receipt: string | null, version: StompVersion): Uint8Array {
  const headers: Headers = [
    ['code', error.code],
    ['message', error.advice.replaceAll('\0', '\\0')],
    ...(receipt === null ? [] : [['receipt-id', receipt] as const]),
  ];
  return encodeFrame(frame('ERROR', headers), version);
}
