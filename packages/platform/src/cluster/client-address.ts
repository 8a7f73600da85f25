import type { IncomingMessage } from 'node:http';
import { BlockList, isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Sender } from './vouching.js';

/** Addresses and networks (`10.0.0.0/8`) of proxies that are believed about who sent a request. */
export function trustedNetworks(proxies: readonly string[]): BlockList {
  const list = new BlockList();
  for (const proxy of proxies) {
    const [address = '', bits] = proxy.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return list;
}

/** At the other end of a connection. */
export function peerOf(socket: Socket): Sender {
  const { remoteAddress: address = '0.0.0.0', remotePort: port = 0 } = socket;
  return { address: plain(address), port, protocol: socket instanceof TLSSocket ? 'https' : 'http' };
}

/** Who sent it: the nearest one that is no trusted proxy, as the trusted ones tell. */
export function senderOf({ socket, headers }: Pick<IncomingMessage, 'headers' | 'socket'>, trusted: BlockList): Sender {
  const peer = peerOf(socket);
  if (!isIn(trusted, peer.address)) return peer;
  const told = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .map((one) => plain(one.trim()));
  let { address } = peer;
  while (isIn(trusted, address)) {
    const next = told.pop() ?? '';
    if (isIP(next) === 0) break;
    address = next;
  }
  const proto = String(headers['x-forwarded-proto'] ?? '')
    .split(',')
    .at(-1)
    ?.trim();
  return { ...peer, address, protocol: proto === 'https' || proto === 'http' ? proto : peer.protocol };
}

function isIn(list: BlockList, address: string): boolean {
  return list.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

function plain(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/, '');
}
