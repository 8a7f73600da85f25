import { connect as connectPlain, createServer, type Server, type Socket } from 'node:net';
import { connect as connectTls, createServer as createTlsServer } from 'node:tls';
import { type Clock, systemClock } from '@muster/base/clock';
import { FABRIC_LIMITS } from '../limits.js';
import type { Address } from './address.js';
import type { Accept, Channel, ChannelHandlers } from './channel.js';
import { attempt } from './connect-attempt.js';
import type { ConnectOptions, ListenOptions } from './options.js';
import { SocketStream } from './socket-stream.js';
import { StreamChannel } from './stream-channel.js';

/** @throws MusterError `fabric_unreachable` */
export function connectTcp(address: Address, options: ConnectOptions, handlers: ChannelHandlers): Promise<Channel> {
  const { clock = systemClock } = options;
  const { host, port, path } = address;
  return attempt(address, options, (done, failed) => {
    const socket = address.secure
      ? connectTls({ host, port, ...tlsOptions(host, options) })
      : connectPlain(address.scheme === 'stomp+unix' ? { path } : { host, port });
    socket.once('error', failed);
    socket.once(address.secure ? 'secureConnect' : 'connect', () => {
      socket.off('error', failed);
      const channel = new StreamChannel(new SocketStream(socket), clock);
      done(channel);
      setImmediate(() => channel.attach(handlers));
    });
    return () => socket.destroy();
  });
}

/** What Node needs to verify the server. */
export function tlsOptions(host: string, { tls = {} }: ConnectOptions) {
  const name = tls.serverName ?? host;
  return {
    rejectUnauthorized: tls.verify ?? true,
    ...(tls.ca !== undefined && { ca: tls.ca }),
    // An IP address cannot be asked for by name; certificates may be for it all the same.
    ...(!/^[\d.]+$|:/.test(name) && { servername: name }),
  };
}

export function createTcpServer(options: ListenOptions, accept: Accept): Server {
  const { clock = systemClock, tls } = options;
  return tls === undefined
    ? createServer((socket) => takeSocket(socket, clock, accept))
    : createTlsServer({ ...tls, handshakeTimeout: FABRIC_LIMITS.connectMs }, (socket) =>
        takeSocket(socket, clock, accept),
      );
}

/** A connection that stands already. */
export function takeSocket(socket: Socket, clock: Clock, accept: Accept): void {
  const channel = new StreamChannel(new SocketStream(socket), clock);
  channel.attach(accept(channel));
}
