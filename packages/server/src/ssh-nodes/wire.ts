import {
  type CommandSocket,
  Inbox,
  type ReceivingSocket,
  type SocketEvent,
  type Sockets,
} from '@muster/agent/elsewhere';
import { type LocalPeer, LocalPeers } from '@muster/nodes';

interface Dealing {
  connect(): void;
  disconnect(): void;
}

/**
 * Between the server and the agent that it hosts for a node: as a cable to that node would be, it is cut while the host is not reached.
 * So the server hears nothing of the node then, and judges it as any other that fell silent.
 */
export class Wire {
  readonly #peers: LocalPeers;
  readonly #dealings = new Set<Dealing>();
  #open = false;

  constructor(peers: LocalPeers) {
    this.#peers = peers;
  }

  open(): void {
    if (this.#open) return;
    this.#open = true;
    for (const dealing of this.#dealings) dealing.connect();
  }

  cut(): void {
    if (!this.#open) return;
    this.#open = false;
    for (const dealing of this.#dealings) dealing.disconnect();
  }

  readonly sockets: Sockets = {
    curveKeys: () => LocalPeers.curveKeys(),

    subscribe: (): ReceivingSocket => {
      const inbox = new Inbox();
      const leave = this.#peers.subscribe((frames) => {
        if (this.#open) inbox.put(frames.map(bufferOf));
      });
      return {
        get closed() {
          return inbox.closed;
        },
        close() {
          leave();
          inbox.end();
        },
        [Symbol.asyncIterator]: () => inbox[Symbol.asyncIterator](),
      };
    },

    deal: (_configuration, _curve, tell): CommandSocket => {
      const inbox = new Inbox();
      let peer: LocalPeer | null = null;
      // Never before `deal` has returned.
      const later = (event: SocketEvent) =>
        queueMicrotask(() => {
          if (!inbox.closed) tell(event);
        });
      const disconnect = (): void => {
        if (peer === null) return;
        peer.close();
        peer = null;
        later('disconnected');
      };
      // The server hangs up when what was agreed with the node holds no more: it would not admit this key again.
      const refused = (): void => {
        peer = null;
        later('refused');
      };
      const dealing: Dealing = {
        disconnect,
        connect: () => {
          if (peer !== null || inbox.closed) return;
          peer = this.#peers.connect({ arrived: (frames) => inbox.put(frames.map(bufferOf)), closed: refused });
          later('connected');
        },
      };
      this.#dealings.add(dealing);
      if (this.#open) dealing.connect();
      return {
        linger: 0,
        get closed() {
          return inbox.closed;
        },
        async send(frames) {
          if (peer?.send(frames) !== true) throw new Error('the server does not hear this node now');
        },
        close: () => {
          this.#dealings.delete(dealing);
          peer?.close();
          peer = null;
          inbox.end();
        },
        [Symbol.asyncIterator]: () => inbox[Symbol.asyncIterator](),
      };
    },
  };
}

function bufferOf(frame: Uint8Array): Buffer {
  return Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength);
}
