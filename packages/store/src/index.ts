export { isDuplicate } from './duplicate.js';
export {
  appendEvents,
  type ChunkEvent,
  type EventContent,
  type EventFrame,
  type EventPart,
  eventRows,
  frameEvent,
  placeRun,
  readEvents,
  sizeOfEvent,
  sizeOfRun,
  writeRun,
} from './event-chunk.js';
export type { Batch, Lane, Outcome, Row } from './lane.js';
export { LIMITS, type Limits } from './limits.js';
export { type DirectoryLock, lockDirectory } from './lock.js';
export { type MemoryDatabase, openMemory } from './memory.js';
export { SCHEMA_VERSION } from './migrations/index.js';
export { open } from './open.js';
export type { Schema } from './schema.js';
export { type ColumnsOf, insert, type RowOf, upsert } from './statements.js';
export * from './types.js';
