// What the package adds to the types of those below it: tables and permissions.
import './repository/tables.js';
import './rights.js';
import './approvals/rights.js';
import './approvals/tables.js';
import './runbooks/rights.js';
import './runbooks/tables.js';

export { pushLayer } from './declaration.js';
export { PUSH_FEED } from './events.js';
export { createPush, type Push } from './layer.js';
export type { Stage } from './machine/stage.js';
export { Ownership } from './ownership/ownership.js';
export type { PushController, StartPushJob } from './ports.js';
export { createRunbooks, type RunbookLayer } from './runbooks/layer.js';
export { createPushStarter, type PushStarter } from './starter.js';
export type { FinalPushJobStatus, PushJobNodeStatus, PushJobSpec, PushJobStatus } from './types.js';
