import { ProtocolError } from './protocol-error.js';

/** The greeting of ZMTP 3 (RFC 23): signature, version, mechanism, role. */
export const GREETING_BYTES = 64;

export type MechanismName = 'NULL' | 'CURVE';

const MECHANISM_AT = 12;
const MECHANISM_BYTES = 20;
const AS_SERVER_AT = 32;

/** What this end says first, to whoever connects. */
export function serverGreeting(mechanism: MechanismName): Buffer {
  const greeting = Buffer.alloc(GREETING_BYTES);
  greeting[0] = 0xff;
  greeting[8] = 1;
  greeting[9] = 0x7f;
  greeting[10] = 3;
  greeting[11] = 1;
  greeting.write(mechanism, MECHANISM_AT, 'latin1');
  greeting[AS_SERVER_AT] = mechanism === 'CURVE' ? 1 : 0;
  return greeting;
}

/** @throws ProtocolError unless the peer speaks ZMTP 3 with this mechanism, as a client. */
export function checkGreeting(greeting: Buffer, mechanism: MechanismName): void {
  checkSignature(greeting);
  if ((greeting[10] ?? 0) < 3) throw new ProtocolError('a version of ZMTP before 3');
  const theirs = greeting.toString('latin1', MECHANISM_AT, MECHANISM_AT + MECHANISM_BYTES).replace(/\0+$/, '');
  if (theirs !== mechanism) throw new ProtocolError('another security mechanism');
  if (mechanism === 'CURVE' && greeting[AS_SERVER_AT] !== 0) throw new ProtocolError('the peer is a server as well');
}

/** As much of it as has arrived. @throws ProtocolError */
export function checkSignature(greeting: Buffer): void {
  if (greeting.length > 0 && greeting[0] !== 0xff) throw new ProtocolError('not ZMTP');
  if (greeting.length > 9 && greeting[9] !== 0x7f) throw new ProtocolError('not ZMTP');
}
