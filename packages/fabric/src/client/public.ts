export { isDurableName } from '../protocol/durable-name.js';
export { parseFrom, parseTime } from '../protocol/replay-start.js';
export type { Client } from './client.js';
export type { EventMessage } from './events/event-message.js';
export { type SignatureKey, signEvent, verifyEvent } from './events/signature.js';
export type { Subscription } from './events/subscription.js';
export type * from './types.js';
