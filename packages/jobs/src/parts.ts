/** What puts the layer together in another way than `layer.ts` does: a process of the simulation. */
export type { App } from './apps/types.js';
export { Acceptance } from './controller/acceptance.js';
export { JobCommands } from './controller/commands.js';
export { recordCommandOf } from './recovery/messages.js';
export { RecoveryReaders } from './recovery/reader.js';
export { entryIds } from './repository/entry-ids.js';
export { JobStore } from './repository/job-store.js';
export * from './systems/types.js';
export { Failed } from './types.js';
export { createJobWorkers } from './worker/layer.js';
