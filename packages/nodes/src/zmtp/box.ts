import sodium from 'sodium-native';

/*
 * The cryptography of CURVE: NaCl's box, which is X25519, HSalsa20 and XSalsa20-Poly1305. The key of a pair is computed
 * once for a connection and then used as a secret box's; NaCl calls that `beforenm` and `afternm`.
 */

export const KEY_BYTES = 32;
export const NONCE_BYTES = 24;
export const MAC_BYTES = 16;

export interface BoxKeys {
  readonly publicKey: Buffer;
  readonly secretKey: Buffer;
}

export function newBoxKeys(): BoxKeys {
  const keys = { publicKey: Buffer.alloc(KEY_BYTES), secretKey: Buffer.alloc(KEY_BYTES) };
  sodium.crypto_box_keypair(keys.publicKey, keys.secretKey);
  return keys;
}

/** What two key pairs have in common; null for a public key that no honest peer has (a point of low order). */
export function sharedKey(publicKey: Buffer, secretKey: Buffer): Buffer | null {
  const point = Buffer.alloc(KEY_BYTES);
  try {
    sodium.crypto_scalarmult(point, secretKey, publicKey);
  } catch {
    return null;
  }
  return hsalsa20(point);
}

/** Writes `message` encrypted, `MAC_BYTES` longer, to `out`. */
export function seal(out: Buffer, message: Buffer, nonce: Buffer, key: Buffer): void {
  sodium.crypto_secretbox_easy(out, message, nonce, key);
}

/** The message; null when it was not sealed with this key and nonce. */
export function open(sealed: Buffer, nonce: Buffer, key: Buffer): Buffer | null {
  if (sealed.length < MAC_BYTES) return null;
  const message = Buffer.allocUnsafe(sealed.length - MAC_BYTES);
  return sodium.crypto_secretbox_open_easy(message, sealed, nonce, key) ? message : null;
}

const SIGMA = [0x61707865, 0x3320646e, 0x79622d32, 0x6b206574] as const;
const ROUNDS = 20;
/** The words that a quarter round of Salsa20 takes: those of the columns, then those of the rows. */
const QUARTERS = [
  [0, 4, 8, 12],
  [5, 9, 13, 1],
  [10, 14, 2, 6],
  [15, 3, 7, 11],
  [0, 1, 2, 3],
  [5, 6, 7, 4],
  [10, 11, 8, 9],
  [15, 12, 13, 14],
] as const;
/** The words of the last state that are the result. */
const RESULT = [0, 5, 10, 15, 6, 7, 8, 9] as const;

/** HSalsa20 of a key and sixteen zeros (Bernstein, "Extending the Salsa20 nonce"), which sodium-native does not offer. */
export function hsalsa20(key: Buffer): Buffer {
  const words = new Int32Array(16);
  for (let n = 0; n < 4; n++) {
    words[5 * n] = SIGMA[n] ?? 0;
    words[1 + n] = key.readInt32LE(4 * n);
    words[11 + n] = key.readInt32LE(16 + 4 * n);
  }
  for (let round = 0; round < ROUNDS; round += 2) for (const quarter of QUARTERS) mix(words, quarter);
  const out = Buffer.alloc(KEY_BYTES);
  RESULT.forEach((word, n) => out.writeInt32LE(words[word] ?? 0, 4 * n));
  return out;
}

function mix(words: Int32Array, [a, b, c, d]: readonly [number, number, number, number]): void {
  add(words, b, a, d, 7);
  add(words, c, b, a, 9);
  add(words, d, c, b, 13);
  add(words, a, d, c, 18);
}

function add(words: Int32Array, to: number, one: number, other: number, turn: number): void {
  const sum = ((words[one] ?? 0) + (words[other] ?? 0)) | 0;
  words[to] = (words[to] ?? 0) ^ ((sum << turn) | (sum >>> (32 - turn)));
}
