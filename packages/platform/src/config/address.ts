export interface Address {
  /** Without the brackets of IPv6. */
  readonly host: string;
  readonly port: number;
}

const HOST_PORT = /^(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._*-]{1,253})):(\d{1,5})$/;
const MAX_PORT = 65_535;

/** Reads `HOST:PORT`, `[IPV6]:PORT`; null when it is neither. Port 0 means any free port. */
export function parseHostPort(text: string): Address | null {
  const match = HOST_PORT.exec(text);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  return host === undefined || port > MAX_PORT ? null : { host, port };
}

/** Reads `tcp://HOST:PORT`; host `*` means every interface. */
export function parseTcpAddress(text: string): Address | null {
  return text.startsWith('tcp://') ? parseHostPort(text.slice('tcp://'.length)) : null;
}

/** Whether only this machine can reach an address with this host. */
export function isLoopback(host: string): boolean {
  const name = host.toLowerCase();
  return name === 'localhost' || name === '::1' || /^(::ffff:)?127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(name);
}

/** What listens everywhere, and where a caller on this host reaches it. */
const EVERYWHERE: ReadonlyMap<string, string> = new Map([
  ['0.0.0.0', '127.0.0.1'],
  ['::', '::1'],
  ['*', '127.0.0.1'],
]);

export function isEverywhere(host: string): boolean {
  return EVERYWHERE.has(host);
}

/** Where a caller on this host reaches what listens at `host`. */
export function onThisHost(host: string): string {
  return EVERYWHERE.get(host) ?? host;
}

/** The inverse of `parseHostPort`. */
export function formatHostPort(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
