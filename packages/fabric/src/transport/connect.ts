import { parseAddress } from './address.js';
import type { Channel, ChannelHandlers } from './channel.js';
import type { ConnectOptions } from './options.js';
import { connectTcp } from './tcp.js';
import { connectWebSocket } from './websocket.js';

/**
 * One attempt to connect to `stomp://`, `stomp+tls://`, `ws://`, `wss://` or `stomp+unix:`. The handlers hear nothing before it is resolved.
 * @throws MusterError `invalid_field`, `fabric_unreachable`, `fabric_socket_unreachable`
 */
export async function connectChannel(
  url: string,
  options: ConnectOptions,
  handlers: ChannelHandlers,
): Promise<Channel> {
  const address = parseAddress(url);
  const open = address.scheme === 'ws' || address.scheme === 'wss' ? connectWebSocket : connectTcp;
  return open(address, options, handlers);
}
