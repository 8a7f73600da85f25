import { readFileSync } from 'node:fs';
import { processUser } from '@muster/base';
import { type CertificatePair, certificateEnd, certificateProblem } from '@muster/signing';
import { MusterError } from '../errors.js';
import type { ServerConfig } from './schema.js';
import { SETTINGS } from './settings.js';

const LISTENERS = ['http', 'stomp', 'disbatch'] as const;
export type TlsListener = (typeof LISTENERS)[number];

/** What a listener shows and signs with; undefined: it speaks no TLS. @throws MusterError `invalid_certificate` */
export function readTls(config: ServerConfig, listener: TlsListener): CertificatePair | undefined {
  const { tls_cert: cert, tls_key: key } = config[listener];
  if (cert === undefined || key === undefined) return undefined;
  const paths = { cert, key };
  const refuse = (which: keyof CertificatePair, reason: string, cause?: unknown): never => {
    const setting = nameOf(`${listener}.tls_${which}`);
    const details = { setting, path: paths[which], reason, user: processUser() };
    throw new MusterError('invalid_certificate', details, { cause });
  };
  const read = (which: keyof CertificatePair): string => {
    try {
      return readFileSync(paths[which], 'utf8');
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause);
      return refuse(which, `cannot be read (${why})`, cause);
    }
  };
  const pair = { cert: read('cert'), key: read('key') };
  const problem = certificateProblem(pair);
  return problem === null ? pair : refuse(problem.in, problem.reason);
}

export interface CertificateEnd {
  readonly listener: TlsListener;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** Looks at the certificates of all listeners. @throws MusterError `invalid_certificate` */
export function certificateEnds(config: ServerConfig): readonly CertificateEnd[] {
  return LISTENERS.flatMap((listener) => {
    const pair = readTls(config, listener);
    return pair === undefined ? [] : [{ listener, expiresAt: certificateEnd(pair.cert) }];
  });
}

/** Looks at the certificates of all listeners and tells which have expired. @throws MusterError `invalid_certificate` */
export function expiredCertificates(config: ServerConfig, now: number): string[] {
  return certificateEnds(config)
    .filter(({ expiresAt }) => expiresAt < now)
    .map(({ listener, expiresAt }) => {
      const setting = nameOf(`${listener}.tls_cert`);
      return `${setting}: the certificate expired at ${new Date(expiresAt).toISOString()}; clients refuse it until it is renewed`;
    });
}

function nameOf(path: string): string {
  const flag = SETTINGS.find((setting) => setting.path === path)?.flag;
  return `${path} (${flag})`;
}
