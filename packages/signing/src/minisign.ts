import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';

/** Signatures of files as minisign makes them: Ed25519 over the BLAKE2b hash of a file, and over a comment besides. */

/** The public half of a key, and the number by which signatures name it. */
export interface MinisignKey {
  readonly id: Buffer;
  readonly key: KeyObject;
}

/** The message says what is wrong with a key or a signature. */
export class MinisignError extends Error {
  override readonly name = 'MinisignError';
}

const ID_BYTES = 8;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
/** What begins a public key, and what begins a signature over the hash of a file. Older signatures, over the file itself, are not taken. */
const OF_KEY = 'Ed';
const OF_HASH = 'ED';
/** What an Ed25519 key begins with as SPKI in DER. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');
const TRUSTED = 'trusted comment: ';

/** @param text The line of base64 in a public key file, which begins with RW. @throws MinisignError */
export function readMinisignKey(text: string): MinisignKey {
  const [id, bytes] = split(text, OF_KEY, KEY_BYTES, 'not a public key of minisign');
  return { id, key: createPublicKey({ key: Buffer.concat([SPKI, bytes]), format: 'der', type: 'spki' }) };
}

/**
 * @param signature The text of FILE.minisig.
 * @returns The trusted comment, which is signed as well.
 * @throws MinisignError
 */
export function verifyMinisign(content: Uint8Array, signature: string, { id, key }: MinisignKey): string {
  const [, first = '', trusted = '', second = ''] = signature.split('\n');
  const [signer, signed] = split(first, OF_HASH, SIGNATURE_BYTES, 'not a signature of minisign');
  if (!signer.equals(id)) throw new MinisignError('it was signed with another key');
  const hash = createHash('blake2b512').update(content).digest();
  if (!verify(null, hash, key, signed)) throw new MinisignError('the file is not the one that was signed');
  if (!trusted.startsWith(TRUSTED)) throw new MinisignError('not a signature of minisign');
  const comment = trusted.slice(TRUSTED.length);
  if (!verify(null, Buffer.concat([signed, Buffer.from(comment)]), key, Buffer.from(second, 'base64'))) {
    throw new MinisignError('the comment is not the one that was signed');
  }
  return comment;
}

/** Kind, number of the key, and the rest. */
function split(text: string, kind: string, length: number, wrong: string): readonly [Buffer, Buffer] {
  const all = Buffer.from(text, 'base64');
  const begin = kind.length + ID_BYTES;
  if (all.length !== begin + length || all.toString('latin1', 0, kind.length) !== kind) throw new MinisignError(wrong);
  return [all.subarray(kind.length, begin), all.subarray(begin)];
}
