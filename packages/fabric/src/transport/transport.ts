import { connectChannel } from './connect.js';
import { listenForChannels } from './listen.js';

/** How channels are opened and accepted: over real sockets, or over the network of a simulation. */
export interface Transport {
  readonly connect: typeof connectChannel;
  readonly listen: typeof listenForChannels;
}

/** Of this machine. */
export const sockets: Transport = { connect: connectChannel, listen: listenForChannels };
