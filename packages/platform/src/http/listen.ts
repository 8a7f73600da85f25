import type { AddressInfo } from 'node:net';
import { formatHostPort, onThisHost, parseHostPort } from '../config/address.js';
import { MusterError } from '../errors.js';
import type { App } from './route.js';

/** Listens; returns the URL. @throws MusterError `address_in_use`. */
export async function listen(app: App, address: string, tls: boolean): Promise<string> {
  const parsed = parseHostPort(address);
  if (parsed === null) throw new MusterError('invalid_configuration', { reason: `http.listen: '${address}'` });
  const { host, port } = parsed;
  await app.ready();
  // The framework says for every address that it listens; the server says once that it is up.
  const { level } = app.log;
  app.log.level = 'silent';
  try {
    await app.listen({ host: host === '*' ? '::' : host, port });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MusterError('address_in_use', { address, reason }, { cause });
  } finally {
    app.log.level = level;
  }
  const bound: AddressInfo | string | null = app.server.address();
  const actual = typeof bound === 'object' && bound !== null ? bound.port : port;
  return `${tls ? 'https' : 'http'}://${formatHostPort(onThisHost(host), actual)}`;
}
