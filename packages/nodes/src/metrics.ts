import type { Metrics } from '@muster/platform/metrics';
import type { AgentMessage, DropCause } from '@muster/wire';
import type { SendDropCause } from './transport.js';
import type { NodeAspect, NodeView } from './types.js';
import type { CloseCause } from './zmtp/listener.js';

/** The series of the nodes layer. */
export interface NodeMetrics {
  received(type: AgentMessage['type']): void;
  messageDropped(cause: DropCause): void;
  sendDropped(cause: SendDropCause): void;
  zap(result: 'admitted' | 'expired' | 'unknown'): void;
  connectionClosed(cause: CloseCause): void;
}

export function createNodeMetrics(metrics: Metrics): NodeMetrics {
  const received = metrics.counter('muster_messages_received_total', 'Verified messages from nodes', ['type']);
  const dropped = metrics.counter('muster_messages_dropped_total', 'Messages from nodes that were dropped', ['cause']);
  const sends = metrics.counter('muster_sends_dropped_total', 'Messages to nodes that were not sent', ['cause']);
  const zap = metrics.counter('muster_zap_total', 'CURVE handshakes', ['result']);
  const closed = metrics.counter(
    'muster_node_connections_closed_total',
    'Connections to the sockets for nodes that the server closed',
    ['cause'],
  );
  return {
    received: (type) => received.inc({ type }),
    messageDropped: (cause) => dropped.inc({ cause }),
    sendDropped: (cause) => sends.inc({ cause }),
    zap: (result) => zap.inc({ result }),
    connectionClosed: (cause) => closed.inc({ cause }),
  };
}

/** When all layers are made: what those above know of nodes counts, too. */
export function countNodes(metrics: Metrics, nodes: Iterable<NodeView>, labels: NodeAspect['labels']): void {
  const added = Object.entries(labels);
  metrics.gauge('muster_nodes', 'Known nodes', ['status', ...Object.keys(labels)], (gauge) => {
    gauge.reset();
    for (const node of nodes) {
      const known = Object.fromEntries(added.map(([label, of]) => [label, of(node)]));
      gauge.inc({ status: node.status, ...known });
    }
  });
}
