export * from './clock.js';
export type * from './dialects/types.js';
export { Dropped } from './dialects/types.js';
export type * from './discovery.js';
export * from './errors.js';
export * from './messages.js';
