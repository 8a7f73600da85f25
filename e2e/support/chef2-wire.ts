import { constants, createHash, createHmac, privateDecrypt, publicDecrypt, timingSafeEqual } from 'node:crypto';

/** Frames of protocol 2.0, written from the reference sheet §2.4, §3.3 and §3.4 alone. */

export type Body = Readonly<Record<string, unknown>>;

export function hmacHeader(body: Uint8Array, key: Uint8Array): string {
  const signature = createHmac('sha256', key).update(body).digest('base64');
  return `Version:2.0;SigningMethod:hmac_sha256;Signature:${signature}`;
}

/** The clauses the deployed agent looks at; anything else is ignored (sheet §3.3). */
function clauses(header: string): { readonly method?: string; readonly signature?: string } {
  const found: { method?: string; signature?: string } = {};
  for (const clause of header.split(';')) {
    const colon = clause.indexOf(':');
    if (colon < 0) continue;
    const value = clause.slice(colon + 1);
    if (clause.slice(0, colon) === 'SigningMethod') found.method = value;
    if (clause.slice(0, colon) === 'Signature') found.signature = value;
  }
  return found;
}

/** Whether the deployed agent would accept these frames: RSA with the server's key, HMAC with the session key. */
export function genuine(header: string, body: Uint8Array, sessionKey: Uint8Array, serverKey: string): boolean {
  const { method, signature } = clauses(header);
  if (signature === undefined) return false;
  const given = Buffer.from(signature, 'base64');
  if (method === 'hmac_sha256') {
    const wanted = createHmac('sha256', sessionKey).update(body).digest();
    return given.length === wanted.length && timingSafeEqual(given, wanted);
  }
  if (method !== 'rsa2048_sha1') return false;
  const signed = publicDecrypt({ key: serverKey, padding: constants.RSA_PKCS1_PADDING }, given).toString();
  return signed === createHash('sha1').update(body).digest('base64');
}

/** RSA PKCS#1 v1.5 type 2, unpadded by hand because current Node refuses to (sheet §2.4). */
export function openSessionKey(encoded: string, privateKey: string): Uint8Array {
  const block = privateDecrypt({ key: privateKey, padding: constants.RSA_NO_PADDING }, Buffer.from(encoded, 'base64'));
  const end = block.indexOf(0, 2);
  if (block[0] !== 0 || block[1] !== 2 || end < 10) throw new Error('the session key is not padded as PKCS#1 type 2');
  return block.subarray(end + 1);
}
