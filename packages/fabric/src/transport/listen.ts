import { chmodSync, chownSync, lstatSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Server } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { MusterError } from '../errors.js';
import { type Address, formatAddress, isLoopback, parseAddress } from './address.js';
import type { Accept, Listener } from './channel.js';
import type { ListenOptions } from './options.js';
import { reasonOf, remoteOf } from './socket.js';
import { createTcpServer } from './tcp.js';
import { createWebSocketServer } from './websocket.js';

/**
 * Takes connections at `stomp://`, `stomp+tls://`, `ws://`, `wss://` or `stomp+unix:`; host `*` is every interface, port 0 any free one.
 * @throws MusterError `invalid_field`, `insecure_stomp`, `address_in_use`
 */
export async function listenForChannels(url: string, options: ListenOptions, accept: Accept): Promise<Listener> {
  const address = parseAddress(url);
  const { tls, insecure = false, group, ...others } = options;
  if (address.secure && tls === undefined) {
    throw new MusterError('invalid_field', { field: `address ${url}`, reason: 'TLS needs a certificate and its key' });
  }
  if (!address.secure && !insecure && !isLoopback(address.host)) {
    throw new MusterError('insecure_stomp', { address: `${address.host}:${address.port}` });
  }
  const own = { ...others, ...(address.secure && tls !== undefined && { tls }) };
  const web = address.scheme === 'ws' || address.scheme === 'wss';
  const server = web ? createWebSocketServer(address.path, own, accept) : createTcpServer(own, accept);
  server.on('tlsClientError', (error: Error, socket: TLSSocket) => options.refused?.(error, remoteOf(socket)));
  if (address.scheme === 'stomp+unix') await bindUnix(server, address, group);
  else await bind(server, address);
  server.on('error', (error: Error) => options.refused?.(error, 'unknown'));
  return { url: formatAddress(address, portOf(server)), close: () => close(server) };
}

function portOf(server: Server): number {
  const bound = server.address() as AddressInfo | string;
  return typeof bound === 'string' ? 0 : bound.port;
}

function bind(server: Server, { host, port }: Address): Promise<void> {
  return bound(server, `${host}:${port}`, () => {
    server.listen({ host: host === '*' ? '::' : host, port, backlog: BACKLOG });
  });
}

/** Nobody but its owner can connect, not for a moment; then its group can, if one is named. */
async function bindUnix(server: Server, { path }: Address, group: number | undefined): Promise<void> {
  await removeDead(path).catch((cause: unknown) => Promise.reject(cannotListen(path, cause)));
  await bound(server, path, () => {
    const before = process.umask(0o177);
    try {
      server.listen({ path, backlog: BACKLOG });
    } finally {
      process.umask(before);
    }
  });
  if (group === undefined) return;
  try {
    chownSync(path, -1, group);
    chmodSync(path, 0o660);
  } catch (cause) {
    await close(server);
    throw cannotListen(path, cause);
  }
}

/**
 * A socket whose owner was killed stays in the file system, and nobody answers there. Files of other kinds are left.
 */
async function removeDead(path: string): Promise<void> {
  const isSocket = lstatSync(path, { throwIfNoEntry: false })?.isSocket() === true;
  if (isSocket && (await refuses(path))) rmSync(path, { force: true });
}

function refuses(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    socket.once('connect', () => {
      socket.destroy();
      resolve(false);
    });
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'));
  });
}

function bound(server: Server, address: string, listen: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => reject(cannotListen(address, cause)));
    server.once('listening', () => {
      server.removeAllListeners('error');
      resolve();
    });
    listen();
  });
}

function cannotListen(address: string, cause: unknown): MusterError {
  return new MusterError('address_in_use', { address, reason: reasonOf(cause) }, { cause });
}

/** After a relay came back all its clients come at once. */
const BACKLOG = 4096;

/** The server itself would wait for its last connection. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close();
    setImmediate(resolve);
  });
}
