export type * from './auth/types.js';
export * from './config/index.js';
export { createLogger } from './logging.js';
export type * from './nodes/types.js';
export type * from './push/types.js';
export { type RunningServer, type ServerOptions, startServer } from './server.js';
export { VERSION } from './version.js';
