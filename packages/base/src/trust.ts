import type { ErrorCode } from './errors.js';

/** As Node.js and OpenSSL name what is wrong with the certificate of a server: nobody who is trusted has signed it. */
const UNTRUSTED: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_UNTRUSTED',
]);

/** It is signed by somebody trusted, perhaps, but it is not for now, or not for this host. */
const INVALID: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_REVOKED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
]);

/** Which error tells why a TLS connection was not made; null: it was not for the certificate of the other side. */
export function certificateError(error: unknown): Extract<ErrorCode, `certificate_${string}`> | null {
  for (let at = error; at instanceof Error; at = at.cause) {
    const code = 'code' in at ? String(at.code) : '';
    if (UNTRUSTED.has(code)) return 'certificate_untrusted';
    if (INVALID.has(code)) return 'certificate_invalid';
  }
  return null;
}
