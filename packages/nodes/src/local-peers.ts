import { randomBytes } from 'node:crypto';
import { type Frames, z85Encode } from '@muster/wire';
import type { Endpoints, Handlers, Peer, SocketChannel, Transport } from './transport.js';

/** One end of a connection within this process: what a command socket is to an agent elsewhere. */
export interface LocalPeer {
  /** False: the server takes nothing. */
  send(frames: readonly Uint8Array[]): boolean;
  close(): void;
}

export interface LocalPeerEvents {
  arrived(frames: readonly Uint8Array[]): void;
  /** The server has closed it. */
  closed(): void;
}

/**
 * A transport to which peers within this process belong, too: agents for nodes that have none. They prove who they are as all others
 * do; what they say does not leave the process.
 */
export class LocalPeers implements Transport {
  readonly #outside: Transport;
  #handlers: Handlers | null = null;
  readonly #peers = new Map<string, LocalPeerEvents>();
  readonly #listening = new Set<(frames: Frames) => void>();
  #last = 0;

  constructor(outside: Transport) {
    this.#outside = outside;
  }

  /** A CURVE key that no connection needs: by it the configuration tells agents from clients of other kinds. */
  static curveKeys(): { readonly publicKey: string; readonly secretKey: string } {
    return { publicKey: z85Encode(randomBytes(32)), secretKey: '' };
  }

  connect(events: LocalPeerEvents): LocalPeer {
    const identity = new Uint8Array(8);
    new DataView(identity.buffer).setFloat64(0, ++this.#last);
    const key = keyOf(identity);
    this.#peers.set(key, events);
    return {
      send: (frames) => {
        if (this.#handlers === null || !this.#peers.has(key)) return false;
        this.#handlers.received('local', [identity, ...frames]);
        return true;
      },
      close: () => void this.#peers.delete(key),
    };
  }

  /** Of the server's heartbeats. */
  subscribe(arrived: (frames: Frames) => void): () => void {
    this.#listening.add(arrived);
    return () => void this.#listening.delete(arrived);
  }

  start(handlers: Handlers): Promise<Endpoints> {
    this.#handlers = handlers;
    return this.#outside.start(handlers);
  }

  send(peer: Peer, seal: () => Frames | null): void {
    if (peer.channel !== 'local') return this.#outside.send(peer, seal);
    const events = this.#peers.get(keyOf(peer.identity));
    if (events === undefined) return this.#handlers?.sendDropped('unreachable');
    const frames = seal();
    if (frames !== null) events.arrived(frames);
  }

  publish(channel: SocketChannel, frames: Frames): void {
    this.#outside.publish(channel, frames);
    if (channel === 'curve') for (const arrived of this.#listening) arrived(frames);
  }

  hangUp(peer: Peer): void {
    if (peer.channel !== 'local') return this.#outside.hangUp(peer);
    const key = keyOf(peer.identity);
    const events = this.#peers.get(key);
    this.#peers.delete(key);
    events?.closed();
  }

  async stop(): Promise<void> {
    this.#handlers = null;
    this.#peers.clear();
    await this.#outside.stop();
  }
}

function keyOf(identity: Uint8Array): string {
  return Buffer.from(identity).toString('hex');
}
