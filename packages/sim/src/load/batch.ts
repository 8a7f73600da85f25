import { randomUUID } from 'node:crypto';
import { LIMITS } from '@muster/wire';
import { context, curveKeyPair } from 'zeromq';
import type { AssignedBatch, BatchOrder, BatchReport } from './batch-messages.js';
import { Configured } from './configured-batch.js';
import { NodeLink } from './node-link.js';

/**
 * A child process of the load generator: holds a batch of nodes until its parent goes away. One process may have
 * 20,000 open files; a node needs two.
 */
const MAX_SOCKETS = 9_000;

context.maxSockets = MAX_SOCKETS;

function assigned(order: AssignedBatch): void {
  for (const { name, sessionKey } of order.nodes) {
    const link = new NodeLink({
      org: order.org,
      node: name,
      incarnation: randomUUID(),
      address: order.address,
      curveServerKey: order.curveServerKey,
      curve: curveKeyPair(),
      sessionKey: Buffer.from(sessionKey, 'base64'),
      maxSkewMs: LIMITS.messageSkewMs,
      tasks: null,
      output: null,
    });
    link.beat();
  }
}

let nodes = 0;
let batch: Configured | null = null;

async function obey(order: BatchOrder): Promise<BatchReport> {
  switch (order.kind) {
    case 'configured':
      nodes = order.names.length;
      batch = new Configured(order);
      return { kind: 'prepared' };
    case 'connect':
      await batch?.connect();
      return { kind: 'connected', nodes };
    case 'assigned':
      assigned(order);
      return { kind: 'connected', nodes: order.nodes.length };
  }
}

process.on('disconnect', () => process.exit(0));
process.on('message', (order: BatchOrder) => {
  obey(order).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ kind: 'failed', reason: String(error) } satisfies BatchReport),
  );
});
