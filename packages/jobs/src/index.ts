// What the package adds to the types of those below it: tables and permissions.
import './repository/tables.js';
import './rights.js';

export { Acceptance } from './controller/acceptance.js';
export { askerOf } from './controller/asker.js';
export { jobsLayer } from './declaration.js';
export { createJobParts, createJobs, type JobParts, type Jobs, type JobsDeps, type ServerJobsDeps } from './layer.js';
export { gaveUp } from './notifications/deliveries.js';
export { wholeName as jobQueueName } from './routing/definition.js';
export { createAskingReach } from './systems/agent/asking-reach.js';
export { AgentSessions } from './systems/agent/sessions.js';
export { WorkerConnections } from './systems/agent/worker-connections.js';
export { Asking } from './systems/asking/asking.js';
export { createAskingRunner } from './systems/tasks/asking-runner.js';
export { createTaskRunner } from './systems/tasks/runner.js';
export { createJobWorkers, type JobWorkers, type JobWorkersDeps, type NewWorker } from './worker/layer.js';
