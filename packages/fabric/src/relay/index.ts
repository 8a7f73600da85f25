export { createRelayLogger, type RelayLog } from './logging.js';
export type { RelayOptions } from './options.js';
export { type RelayRun, runRelayProcess } from './process/process.js';
export { type Relay, type RelayEnvironment, startRelay } from './relay.js';
export { metricsText } from './status/metrics-text.js';
export type { RelayStatus } from './status/status.js';
export { findStatusSockets, forgetStatusSocket } from './status/status-sockets.js';
