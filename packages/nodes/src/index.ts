// What the package adds to the types of those below it: tables and permissions.
import './rights.js';
import './tables.js';

export { nodesLayer } from './declaration.js';
export { NODE_EVENTS } from './event-types.js';
export { FrontedTransport, type Place } from './fronts/fronted.js';
export { createNodes, type Nodes } from './layer.js';
export { type LocalPeer, LocalPeers } from './local-peers.js';
export { Outbox } from './outbox.js';
export { NODE_PAGE, NodeParams, nodeNamed, nodePage, OrgParams } from './request.js';
export { NODE_STATUS } from './schemas.js';
export { compileSearch, searchNodes } from './search.js';
export { sshAspect } from './ssh-nodes/aspect.js';
export { SshNodes, whereOf } from './ssh-nodes/directory.js';
export type { SshHosts, SshNode, SshNodePolicy, SshStanding, SshTestStep } from './ssh-nodes/types.js';
export type { Handlers, Peer, Transport } from './transport.js';
export type {
  Attributes,
  NodeAspect,
  NodeListener,
  NodeMessage,
  NodeRegistry,
  NodeReport,
  NodeView,
  RestartEnd,
  Standing,
} from './types.js';
