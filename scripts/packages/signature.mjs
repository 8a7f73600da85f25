import { createHash, createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';

/** Signatures as minisign makes and verifies them: Ed25519 of the BLAKE2b hash of a file, and of a comment that nobody can change. */

const PLAIN = Buffer.from('Ed');
const HASHED = Buffer.from('ED');
/** What an Ed25519 key begins with as SPKI in DER. */
const SPKI = Buffer.from('302a300506032b6570032100', 'hex');

/** @param {string} pem a private key as `openssl genpkey -algorithm ed25519` writes it */
export function signingKey(pem) {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519') {
    throw new Error(
      `--sign takes an Ed25519 key (openssl genpkey -algorithm ed25519), not one of ${key.asymmetricKeyType}`,
    );
  }
  const bytes = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(SPKI.length);
  return { key, bytes, id: createHash('sha256').update(bytes).digest().subarray(0, 8) };
}

/** The public half, for `minisign -V -p FILE`. */
export function publicKeyFile({ bytes, id }) {
  return lines('untrusted comment: public key of Muster releases', Buffer.concat([PLAIN, id, bytes]));
}

/** Beside the file, as FILE.minisig. */
export function signatureFile(content, { key, id }, comment) {
  const signature = sign(null, hashed(content), key);
  const all = sign(null, Buffer.concat([signature, Buffer.from(comment)]), key);
  return [
    lines('untrusted comment: signature of a Muster release', Buffer.concat([HASHED, id, signature])),
    lines(`trusted comment: ${comment}`, all),
  ].join('');
}

/** The comment of a signature that holds; throws what is wrong with any other. */
export function verified(content, signatureText, publicText) {
  const [, given = ''] = publicText.split('\n');
  const [, first = '', trusted = '', second = ''] = signatureText.split('\n');
  const [pinned, signed] = [given, first].map((text) => Buffer.from(text, 'base64'));
  if (!pinned.subarray(2, 10).equals(signed.subarray(2, 10))) throw new Error('it was signed with another key');
  const key = createPublicKey({ key: Buffer.concat([SPKI, pinned.subarray(10)]), format: 'der', type: 'spki' });
  const signature = signed.subarray(10);
  if (!verify(null, hashed(content), key, signature)) throw new Error('the file is not the one that was signed');
  const comment = trusted.replace(/^trusted comment: /, '');
  const all = Buffer.concat([signature, Buffer.from(comment)]);
  if (!verify(null, all, key, Buffer.from(second, 'base64')))
    throw new Error('the comment is not the one that was signed');
  return comment;
}

function hashed(content) {
  return createHash('blake2b512').update(content).digest();
}

function lines(comment, bytes) {
  return `${comment}\n${bytes.toString('base64')}\n`;
}
