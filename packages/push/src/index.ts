// What the package adds to the types of those below it: tables and permissions.
import './repository/tables.js';
import './rights.js';

export { createPushController } from './controller/controller.js';
export { pushLayer } from './declaration.js';
export { PUSH_FEED } from './events.js';
export { createPushFeeds, type PushFeeds } from './feeds.js';
export { createPush, type Push } from './layer.js';
export { Ownership } from './ownership/ownership.js';
export type { NodeOwners, Owner, OwningJobs } from './ownership/types.js';
export type { PushController, StartPushJob } from './ports.js';
export { savePushJob } from './repository/writes.js';
export type { FinalPushJobStatus, PushJobNodeStatus, PushJobSpec, PushJobStatus } from './types.js';
