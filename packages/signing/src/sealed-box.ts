import {
  createCipheriv,
  createDecipheriv,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/**
 * Bytes for one reader alone, over whatever channel: the reader makes a key pair for this one answer and sends the public half
 * in a signed request; the writer makes another, and both come to the same AES-256-GCM key (X25519, HKDF with SHA-256). Who
 * learns the keys of a node later opens nothing that was sent before.
 */
export interface SealedBox {
  /** Of the writer, for this box: as `BoxKey.publicKey`. */
  readonly key: string;
  /** Base64. */
  readonly nonce: string;
  readonly tag: string;
  readonly sealed: string;
}

/** Of one reader, for one box. */
export interface BoxKey {
  /** X25519, 32 bytes in base64url. */
  readonly publicKey: string;
  /** @throws Error when the box was changed, or was sealed for something else */
  open(box: SealedBox, about: string): Buffer;
}

const PUBLIC_KEY = /^[A-Za-z0-9_-]{43}$/;

/** Is it the public half of a key for a box? */
export function isBoxKey(text: string): boolean {
  return PUBLIC_KEY.test(text);
}

export function newBoxKey(): BoxKey {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const own = written(publicKey);
  return {
    publicKey: own,
    open({ key, nonce, tag, sealed }, about) {
      if (!isBoxKey(key)) throw new Error('the box has no key');
      const decipher = createDecipheriv('aes-256-gcm', shared(privateKey, key, own), Buffer.from(nonce, 'base64'), {
        authTagLength: 16,
      });
      decipher.setAAD(Buffer.from(about)).setAuthTag(Buffer.from(tag, 'base64'));
      return Buffer.concat([decipher.update(Buffer.from(sealed, 'base64')), decipher.final()]);
    },
  };
}

/** @param about What it is for: opens with the same words only. @throws Error for a key that is none */
export function sealBox(readersKey: string, about: string, bytes: Uint8Array): SealedBox {
  const { publicKey, privateKey } = generateKeyPairSync('x25519');
  const nonce = randomBytes(12);
  const cipher = createCipheriv('aes-256-gcm', shared(privateKey, readersKey, readersKey), nonce).setAAD(
    Buffer.from(about),
  );
  const sealed = Buffer.concat([cipher.update(bytes), cipher.final()]).toString('base64');
  const tag = cipher.getAuthTag().toString('base64');
  return { key: written(publicKey), nonce: nonce.toString('base64'), tag, sealed };
}

function shared(own: KeyObject, other: string, reader: string): Uint8Array {
  const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'X25519', x: other }, format: 'jwk' });
  const secret = diffieHellman({ privateKey: own, publicKey });
  return new Uint8Array(hkdfSync('sha256', secret, Buffer.from(reader), 'muster box', 32));
}

function written(key: KeyObject): string {
  return String(key.export({ format: 'jwk' }).x);
}
