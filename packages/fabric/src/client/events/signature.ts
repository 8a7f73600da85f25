import { MusterError } from '../../errors.js';
import { bytesOf } from '../../stomp/bytes.js';
import { concat, headerLine } from '../../stomp/encode.js';
import type { Headers } from '../../stomp/frame.js';

/**
 * Signatures of events: HMAC-SHA-256 with a key that publishers and subscribers share. It covers the attributes in
 * their order, each as the line `name:value` escaped as in STOMP 1.2 with its LF, then an empty line, then the body.
 * The attribute `signature` itself is not covered. Says who published, not that it is new: no protection from replay.
 */
const NAME = 'signature';
const PREFIX = 'hmac-sha256:';
const ALGORITHM = { name: 'HMAC', hash: 'SHA-256' } as const;
const HEX = /^(?:[0-9a-f]{2}){32}$/;

export type SignatureKey = string | Uint8Array;

/**
 * Value of the attribute `signature`. @param key Text is taken as its UTF-8.
 * @throws MusterError `fabric_insecure_page`
 */
export async function signEvent(attributes: Headers, body: Uint8Array, key: SignatureKey): Promise<string> {
  const subtle = webCrypto();
  const imported = await subtle.importKey('raw', plain(key), ALGORITHM, false, ['sign']);
  const mac = new Uint8Array(await subtle.sign(ALGORITHM, imported, covered(attributes, body)));
  return PREFIX + Array.from(mac, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** False for whatever is not exactly one valid signature. @throws MusterError `fabric_insecure_page` */
export async function verifyEvent(attributes: Headers, body: Uint8Array, key: SignatureKey): Promise<boolean> {
  return verifier(key)(attributes, body);
}

/** For many events and one key. @throws MusterError `fabric_insecure_page` */
export function verifier(key: SignatureKey): (attributes: Headers, body: Uint8Array) => Promise<boolean> {
  const subtle = webCrypto();
  let imported: ReturnType<typeof subtle.importKey> | null = null;
  return async (attributes, body) => {
    const signatures = attributes.filter(([name]) => name === NAME);
    const [value = ''] = signatures.map(([, text]) => text);
    const hex = value.slice(PREFIX.length);
    if (signatures.length !== 1 || !value.startsWith(PREFIX) || !HEX.test(hex)) return false;
    const mac = Uint8Array.from(hex.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
    imported ??= subtle.importKey('raw', plain(key), ALGORITHM, false, ['verify']);
    return subtle.verify(ALGORITHM, await imported, mac, covered(attributes, body));
  };
}

/** Browsers keep it from pages that came unprotected over a network. */
function webCrypto(): typeof globalThis.crypto.subtle {
  const { subtle } = globalThis.crypto as Partial<typeof globalThis.crypto>;
  if (subtle === undefined) throw new MusterError('fabric_insecure_page');
  return subtle;
}

function covered(attributes: Headers, body: Uint8Array): Uint8Array<ArrayBuffer> {
  let lines = '';
  for (const [name, value] of attributes) if (name !== NAME) lines += headerLine(name, value);
  return plain(concat([bytesOf(`${lines}\n`), body]));
}

/** In memory of its own, as WebCrypto wants it. */
function plain(data: SignatureKey): Uint8Array<ArrayBuffer> {
  return new Uint8Array(typeof data === 'string' ? bytesOf(data) : data);
}
