export { isDurableName } from '../durable/name.js';
export { parseFrom, parseTime } from '../session/from.js';
export type { Client } from './client.js';
export type { EventMessage } from './event-message.js';
export { type SignatureKey, signEvent, verifyEvent } from './signature.js';
export type { Subscription } from './subscription.js';
export type * from './types.js';
