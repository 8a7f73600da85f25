import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { parseHostPort, type ServerConfig } from '@muster/platform/config';

export interface OwnUrl {
  readonly url: string;
  /** File with the authority that signed the certificate, where that is the certificate itself. */
  readonly ca?: string;
}

/**
 * How a client on this machine reaches the server: where it listens, or by its name, where its certificate is for that and
 * not for the address.
 */
export function ownUrl(listens: string, { http, name }: Pick<ServerConfig, 'http' | 'name'>, pem?: string): OwnUrl {
  if (http.tls_cert === undefined || pem === undefined) return { url: listens };
  const certificate = new X509Certificate(pem);
  const url = new URL(listens);
  if (name !== undefined && !isFor(certificate, url.hostname) && isFor(certificate, name)) url.hostname = name;
  const selfSigned = certificate.checkIssued(certificate);
  return { url: url.origin, ...(selfSigned && { ca: resolve(http.tls_cert) }) };
}

const EVERYWHERE: readonly string[] = ['*', '0.0.0.0', '::'];

/** How clients on other machines reach the server: as its settings say, or where it listens. */
export function advertisedUrl(listens: string, { http, name }: Pick<ServerConfig, 'http' | 'name'>): string {
  if (http.advertise !== undefined) return http.advertise;
  const url = new URL(listens);
  if (EVERYWHERE.includes(parseHostPort(http.listen)?.host ?? '')) url.hostname = name ?? hostname();
  return url.origin;
}

/** What a client finds that is shown this certificate: SHA-256, as in `AA:BB:…`. */
export function fingerprintOf(pem: string): string {
  return new X509Certificate(pem).fingerprint256;
}

function isFor(certificate: X509Certificate, host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return (isIP(bare) === 0 ? certificate.checkHost(bare) : certificate.checkIP(bare)) !== undefined;
}
