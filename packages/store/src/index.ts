export { isDuplicate } from './duplicate.js';
export { LIMITS, type Limits } from './limits.js';
export { type DirectoryLock, lockDirectory } from './lock.js';
export { SCHEMA_VERSION } from './migrations/index.js';
export { open } from './open.js';
export type { Schema } from './schema.js';
export { type ColumnsOf, insert, type RowOf, upsert } from './statements.js';
export * from './types.js';
