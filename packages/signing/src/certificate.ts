import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** PEM texts of what a TLS listener shows and signs with. */
export interface CertificatePair {
  /** The certificate, and its chain behind it. */
  readonly cert: string;
  readonly key: string;
}

export interface CertificateProblem {
  /** Which of the two files is wrong. */
  readonly in: keyof CertificatePair;
  /** Goes on a sentence that begins with the name of the file. */
  readonly reason: string;
}

/** Why no listener can use this pair; null: it can. */
export function certificateProblem({ cert, key }: CertificatePair): CertificateProblem | null {
  let certificate: X509Certificate;
  try {
    certificate = new X509Certificate(cert);
  } catch {
    return { in: 'cert', reason: 'holds no PEM certificate' };
  }
  if (/^-----BEGIN ENCRYPTED|^Proc-Type: 4,ENCRYPTED/m.test(key)) {
    return { in: 'key', reason: 'is protected by a passphrase; take it off with: openssl pkey -in OLD -out NEW' };
  }
  let privateKey: KeyObject;
  try {
    privateKey = createPrivateKey(key);
  } catch {
    return { in: 'key', reason: 'holds no PEM private key' };
  }
  if (!certificate.checkPrivateKey(privateKey)) {
    return { in: 'key', reason: 'is not the private key of the certificate' };
  }
  try {
    // What only TLS itself refuses, such as a key that is too short or a broken chain.
    createSecureContext({ cert, key });
  } catch (error) {
    return { in: 'cert', reason: `cannot be used: ${error instanceof Error ? error.message : String(error)}` };
  }
  return null;
}

/** When this certificate ends, in milliseconds since the epoch. */
export function certificateEnd(cert: string): number {
  return Date.parse(new X509Certificate(cert).validTo);
}
