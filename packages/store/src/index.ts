export type { Schema } from './schema.js';
export * from './types.js';
