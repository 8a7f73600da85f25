import type { MusterError } from '@muster/wire';
import type { EventAccess } from '../access.js';
import { encodeFrame } from '../stomp/encode.js';
import { frame, type Headers, type StompVersion } from '../stomp/frame.js';

export interface Connected {
  readonly version: StompVersion;
  readonly server: string;
  readonly session: number;
  /** Of heart-beats, offered both ways. */
  readonly idleMs: number;
  readonly access: EventAccess;
  readonly eventBytes: number;
}

export function connectedFrame({ version, server, session, idleMs, access, eventBytes }: Connected): Uint8Array {
  const headers: Headers = [
    ['version', version],
    ['server', server],
    ['session', String(session)],
    ['heart-beat', `${idleMs},${idleMs}`],
  ];
  // What a relay must know, so that it takes nothing from its clients that would be refused here.
  const forRelays: Headers = [
    ['relay', 'true'],
    ['max-event', String(eventBytes)],
  ];
  return encodeFrame(frame('CONNECTED', access.relay ? [...headers, ...forRelays] : headers), version);
}

/** @param scheduled Id of a future event; null: it is none. */
export function receiptFrame(id: string, scheduled: string | null, version: StompVersion): Uint8Array {
  const headers: Headers = [['receipt-id', id]];
  return encodeFrame(frame('RECEIPT', scheduled === null ? headers : [...headers, ['scheduled', scheduled]]), version);
}

/** The last frame of a connection: what was wrong, what to do, and a code for programs. */
export function errorFrame(error: MusterError, receipt: string | null, version: StompVersion): Uint8Array {
  const headers: Headers = [
    ['code', error.code],
    ['message', `${error.message}. ${error.fix}`.replaceAll('\0', '\\0')],
    ...(receipt === null ? [] : [['receipt-id', receipt] as const]),
  ];
  return encodeFrame(frame('ERROR', headers), version);
}
