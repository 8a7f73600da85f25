import { createPublicKey, type KeyObject } from 'node:crypto';
import { MusterError } from '../../errors.js';
import { ISSUER_LIMITS } from './types.js';

/** A key and the one algorithm that it is used with. */
export interface IssuerKey {
  readonly key: KeyObject;
  readonly alg: string;
  readonly kid: string | null;
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };
/** What keys of RSA may be used with besides RS256, when their set says so. */
const RSA: ReadonlySet<string> = new Set(['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']);
const LEAST_RSA_BITS = 2048;

/** The algorithm of a key: what its set says, as far as it fits, else the usual one. null: it is none to be used. */
function algorithmOf(key: KeyObject, said: unknown): string | null {
  const usual = usualOf(key);
  if (said === undefined || usual === null || said === usual) return usual;
  return usual === 'RS256' && typeof said === 'string' && RSA.has(said) ? said : null;
}

function usualOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string | null {
  switch (type) {
    case 'rsa':
      return (details?.modulusLength ?? 0) >= LEAST_RSA_BITS ? 'RS256' : null;
    case 'ec':
      return CURVES[details?.namedCurve ?? ''] ?? null;
    case 'ed25519':
      return 'EdDSA';
    default:
      return null;
  }
}

/** A public key or a certificate as PEM. @throws MusterError `invalid_field` */
export function pemKey(pem: string): IssuerKey & { readonly pem: string } {
  const refused = (reason: string) => new MusterError('invalid_field', { field: 'public_key', reason });
  if (!/^\s*-----BEGIN (PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE)-----/.test(pem)) {
    throw refused('must be a PEM text with a public key or a certificate');
  }
  let key: KeyObject;
  try {
    key = createPublicKey(pem);
  } catch {
    throw refused('it cannot be read');
  }
  const alg = algorithmOf(key, undefined);
  if (alg === null)
    throw refused(`must be an RSA key of ${LEAST_RSA_BITS} bits or more, one on a curve of NIST, or Ed25519`);
  return { key, alg, kid: null, pem: key.export({ type: 'spki', format: 'pem' }).toString() };
}

/** Those of a JWK set with which signatures can be verified. Others are left out, as other programs may need them. */
export function keysOfSet(set: unknown): readonly IssuerKey[] {
  const keys: unknown = typeof set === 'object' && set !== null ? Reflect.get(set, 'keys') : null;
  if (!Array.isArray(keys)) throw new Error('it is no JWK set: there are no keys');
  return keys.slice(0, ISSUER_LIMITS.keys).flatMap((jwk: unknown) => keyOf(jwk) ?? []);
}

function keyOf(jwk: unknown): IssuerKey | null {
  if (typeof jwk !== 'object' || jwk === null) return null;
  const { kid, alg: said, use = 'sig' } = jwk as Readonly<Record<string, unknown>>;
  if (use !== 'sig') return null;
  try {
    // A symmetric key in a public place is none; this refuses it.
    const key = createPublicKey({ key: jwk as import('node:crypto').JsonWebKey, format: 'jwk' });
    const alg = algorithmOf(key, said);
    return alg === null ? null : { key, alg, kid: typeof kid === 'string' ? kid : null };
  } catch {
    return null;
  }
}
