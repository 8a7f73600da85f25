import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';

/** `127.0.0.1:50112`, `[::1]:50112`. */
export function remoteOf({
  remoteAddress: host,
  remotePort: port,
}: Pick<Socket, 'remoteAddress' | 'remotePort'>): string {
  if (host === undefined) return 'unknown';
  const plain = host.replace(/^::ffff:(?=\d+\.)/, '');
  return `${plain.includes(':') ? `[${plain}]` : plain}:${port}`;
}

/** Nothing that waits to be sent arrives any more. Below TLS, and without TCP, the connection can only be closed. */
export function reset(socket: Duplex): void {
  if (isTcp(socket) && !('encrypted' in socket)) socket.resetAndDestroy();
  else socket.destroy();
}

/** Unix sockets have no address; Node refuses to reset them. */
function isTcp(socket: Duplex): socket is Socket {
  return 'resetAndDestroy' in socket && (socket as Socket).remoteFamily !== undefined;
}

/** What to say about a failed connection; several addresses of one name fail as one error without a message. */
export function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ');
  return error instanceof Error ? error.message : String(error);
}
