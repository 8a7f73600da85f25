import { capability, Publisher, Router } from 'zeromq';
import { NODE_LIMITS } from './limits.js';

/** Of libzmq's draft API, which zeromq.js builds in but does not name (zmq_draft.h). */
const ZMQ_IN_BATCH_SIZE = 101;
const ZMQ_OUT_BATCH_SIZE = 102;

/**
 * libzmq gives each connection a buffer to read into and one to write from, sized for few busy connections: 8 KiB each,
 * and 11 KiB of bookkeeping. A server has two connections for every node, nearly all of them silent. A message larger
 * than the buffer is read and written in place. A libzmq without the drafts keeps its own sizes.
 */
const BATCH: readonly (readonly [option: number, bytes: number])[] = capability.draft
  ? [
      [ZMQ_IN_BATCH_SIZE, NODE_LIMITS.connectionBuffer],
      [ZMQ_OUT_BATCH_SIZE, NODE_LIMITS.connectionBuffer],
    ]
  : [];

/** A ROUTER for many connections with little traffic each. */
export class LeanRouter extends Router {
  constructor(options: ConstructorParameters<typeof Router>[0]) {
    super(options);
    for (const [option, bytes] of BATCH) this.setInt32Option(option, bytes);
  }
}

/** A PUB for many connections with little traffic each. */
export class LeanPublisher extends Publisher {
  constructor(options: ConstructorParameters<typeof Publisher>[0]) {
    super(options);
    for (const [option, bytes] of BATCH) this.setInt32Option(option, bytes);
  }
}
