export { createNodes, type Nodes } from './layer.js';
export { nodesMigrations } from './migrations.js';
export { Outbox } from './outbox.js';
export type { NodeLog } from './ports.js';
export { clearNodes } from './repository.js';
export { searchNodes } from './search.js';
export type { Handlers, Peer, Transport } from './transport.js';
export type { ClaimResult, NodeRegistry, NodeView, Owner, PushPort } from './types.js';
