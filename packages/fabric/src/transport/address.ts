import { MusterError } from '../errors.js';

/** How STOMP travels. */
export type Scheme = 'stomp' | 'stomp+tls' | 'stomp+unix' | 'ws' | 'wss';

export interface Address {
  readonly scheme: Scheme;
  /** Without the brackets of IPv6. `*`: every interface. Of a Unix socket: `localhost`. */
  readonly host: string;
  readonly port: number;
  /** Of a WebSocket, or of a Unix socket in the file system; else empty. */
  readonly path: string;
  readonly secure: boolean;
}

const DEFAULT_PORTS: Readonly<Record<Exclude<Scheme, 'stomp+unix'>, number>> = {
  stomp: 61_613,
  'stomp+tls': 61_613,
  ws: 80,
  wss: 443,
};
const SHAPE =
  /^([a-z+]+):\/\/(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._*-]{1,253}))(?::(\d{1,5}))?(\/[\x21-\x7e]{0,1024})?$/;
/** `unix:` alone is what the command line takes. */
const UNIX = /^(?:stomp\+)?unix:(\/[^\0]{1,106})$/;
const MOST = 65_535;

/** @throws MusterError `invalid_field`: what is wrong with it */
export function parseAddress(url: string): Address {
  const [, socket] = UNIX.exec(url) ?? [];
  if (socket !== undefined) return { scheme: 'stomp+unix', host: 'localhost', port: 0, path: socket, secure: false };
  const [, name, ipv6, other, digits, path = ''] = SHAPE.exec(url) ?? [];
  const host = ipv6 ?? other;
  const scheme = (['stomp', 'stomp+tls', 'ws', 'wss'] as const).find((known) => known === name);
  if (scheme === undefined || host === undefined) {
    throw invalid(
      url,
      'expected stomp://HOST:PORT, stomp+tls://HOST:PORT, ws://HOST:PORT/PATH, wss://HOST:PORT/PATH or unix:/PATH',
    );
  }
  const web = scheme === 'ws' || scheme === 'wss';
  const port = digits === undefined ? DEFAULT_PORTS[scheme] : Number(digits);
  if (port > MOST) throw invalid(url, `the port is beyond ${MOST}`);
  if (!web && path !== '' && path !== '/') throw invalid(url, 'only WebSockets have a path');
  return { scheme, host, port, path: web ? path : '', secure: scheme === 'stomp+tls' || scheme === 'wss' };
}

/** The inverse; with `port` instead of its own. */
export function formatAddress({ scheme, host, path, ...own }: Address, port = own.port): string {
  if (scheme === 'stomp+unix') return `${scheme}:${path}`;
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;
}

/** Whether only this machine can reach it. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

function invalid(url: string, reason: string): MusterError {
  // A secret may have been written into it.
  return new MusterError('invalid_field', { field: `address ${url.replace(/\/\/[^/]*@/, '//…@')}`, reason });
}
