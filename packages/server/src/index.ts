export type * from './auth/types.js';
export { type ServerConfig, ServerConfigSchema } from './config/schema.js';
export type * from './nodes/types.js';
export type * from './push/types.js';
