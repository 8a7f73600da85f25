import type { CommandSocket, ReceivingSocket, Sockets } from '@muster/agent';
import { z85Decode } from '@muster/wire';
import type { Process } from '../timeline.js';
import type { Network } from './network.js';
import type { Path } from './sides.js';

/** What a socket has received and its reader has not taken yet. */
class Inbox implements AsyncIterable<readonly Buffer[]> {
  closed = false;
  readonly #messages: (readonly Buffer[])[] = [];
  #wake: (() => void) | null = null;

  put(frames: readonly Buffer[]): void {
    if (this.closed) return;
    this.#messages.push(frames);
    this.#wake?.();
  }

  end(): void {
    this.closed = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<readonly Buffer[]> {
    while (!this.closed) {
      const frames = this.#messages.shift();
      if (frames !== undefined) {
        yield frames;
        continue;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = null;
    }
  }
}

let curveKeys = 0;

/** The sockets of one agent process. */
export function simulatedSockets(network: Network, process: Process, path: Path): Sockets {
  return {
    curveKeys() {
      const publicKey = String(++curveKeys).padStart(40, '1');
      return { publicKey, secretKey: publicKey };
    },

    subscribe(configuration): ReceivingSocket {
      const inbox = new Inbox();
      const leave = network.subscribe(process, path, configuration.push_jobs.heartbeat.out_addr, (frames) =>
        inbox.put(frames),
      );
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

    deal(configuration, curve, tell): CommandSocket {
      const inbox = new Inbox();
      const dialing = network.dial({
        process,
        path,
        configuration,
        curveKey: z85Decode(curve.publicKey) ?? new Uint8Array(32),
        arrived: (frames) => inbox.put(frames),
        tell: (event) => {
          if (!inbox.closed) tell(event);
        },
      });
      return {
        linger: 0,
        get closed() {
          return inbox.closed;
        },
        async send(frames) {
          if (inbox.closed || !dialing.send(frames)) throw new Error('the socket takes nothing');
        },
        close() {
          dialing.close();
          inbox.end();
        },
        [Symbol.asyncIterator]: () => inbox[Symbol.asyncIterator](),
      };
    },
  };
}
