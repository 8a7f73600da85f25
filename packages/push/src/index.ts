// What the package adds to the types of those below it: tables and permissions.
import './repository/tables.js';
import './rights.js';

export { pushLayer } from './declaration.js';
export { PUSH_FEED } from './events.js';
export { createPush, type Push } from './layer.js';
export { Ownership } from './ownership/ownership.js';
export type { PushController, StartPushJob } from './ports.js';
export { createPushStarter, type PushStarter } from './starter.js';
export type { FinalPushJobStatus, PushJobNodeStatus, PushJobSpec, PushJobStatus } from './types.js';
