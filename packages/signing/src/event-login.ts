import { type KeyObject, sign, verify } from 'node:crypto';
import { SIGNING_LIMITS } from './limits.js';

/**
 * Login to the event fabric with a principal's key in the place of a token: the STOMP header `passcode` is
 * `key1:TIMESTAMP_MS:NONCE_HEX:SIGNATURE`, with an RSA-SHA256 signature in base64 over the lines `muster-stomp-login`,
 * login, timestamp and nonce. Good for one login, within `SIGNING_LIMITS.loginSkewMs` of its time.
 */
export interface SignedLogin {
  /** `ORG/NAME`, as in the header `login`. */
  readonly login: string;
  /** Milliseconds since the epoch. */
  readonly timestampMs: number;
  /** 16 random bytes, in lower-case hexadecimal. */
  readonly nonce: string;
}

export interface LoginSignature {
  readonly timestampMs: number;
  readonly nonce: string;
  readonly signature: Uint8Array;
}

const PASSCODE = /^key1:(\d{1,15}):([0-9a-f]{32}):([A-Za-z0-9+/]{1,1368}={0,2})$/;

function signedText({ login, timestampMs, nonce }: SignedLogin): Buffer {
  return Buffer.from(`muster-stomp-login\n${login}\n${timestampMs}\n${nonce}`);
}

/** The passcode for one login. `privateKey`: PEM or parsed. */
export function signLogin(about: SignedLogin, privateKey: string | KeyObject): string {
  const signature = sign('sha256', signedText(about), privateKey).toString('base64');
  return `key1:${about.timestampMs}:${about.nonce}:${signature}`;
}

/** Null when the passcode is no signed login; it may be a token. */
export function readLoginSignature(passcode: string): LoginSignature | null {
  const [, timestamp = '', nonce = '', signature = ''] = PASSCODE.exec(passcode) ?? [];
  if (nonce === '') return null;
  return { timestampMs: Number(timestamp), nonce, signature: Buffer.from(signature, 'base64') };
}

/** Is it this key's signature of this login? That it is timely and used once is checked apart. */
export function verifyLogin(login: string, signed: LoginSignature, publicKey: string | KeyObject): boolean {
  return verify('sha256', signedText({ login, ...signed }), publicKey, signed.signature);
}

export function isLoginTimely({ timestampMs }: Pick<LoginSignature, 'timestampMs'>, nowMs: number): boolean {
  return Math.abs(nowMs - timestampMs) < SIGNING_LIMITS.loginSkewMs;
}
