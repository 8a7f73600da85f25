import { type LookupAddress, lookup as resolve } from 'node:dns';
import type { LookupFunction } from 'node:net';
import ipaddr from 'ipaddr.js';

/** Of a name that leads where no user may send us. */
export class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';

  constructor(host: string) {
    super(`${host} is at a private address, which must be allowed (outbound.private_targets)`);
  }
}

/** Of the whole Internet: neither this machine, nor its networks, nor anything reserved. */
export function isPublic(address: string): boolean {
  return ipaddr.isValid(address) && ipaddr.process(address).range() === 'unicast';
}

/** The host of a URL, an address without brackets. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '');
}

/** @throws PrivateAddress for a URL that names an address; names are looked at when they are resolved. */
export function checkHost(url: URL): void {
  const host = hostOf(url);
  if (ipaddr.isValid(host) && !isPublic(host)) throw new PrivateAddress(host);
}

type Resolve = (host: string, options: object, done: (error: Error | null, found: LookupAddress[]) => void) => void;

/**
 * For requests that users ask for. Who connects takes the very address that was checked, so that a name which leads to one address
 * now and to another then does not help.
 */
export function publicLookup(dns: Resolve = resolve as Resolve): LookupFunction {
  return (host, options, done) => {
    dns(host, { ...options, all: true }, (error, found) => {
      const [first] = found ?? [];
      if (error !== null || first === undefined) return done(error ?? new Error(`${host} has no address`), '', 0);
      if (!found.every(({ address }) => isPublic(address))) return done(new PrivateAddress(host), '', 0);
      if (options.all === true) return done(null, found);
      return done(null, first.address, first.family);
    });
  };
}
