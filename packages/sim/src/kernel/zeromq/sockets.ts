import { type CommandSocket, Inbox, type ReceivingSocket, type Sockets } from '@muster/agent';
import { z85Decode } from '@muster/wire';
import type { Process } from '../timeline.js';
import type { Network } from './network.js';
import type { Path } from './sides.js';

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
