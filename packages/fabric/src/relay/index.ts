export { createRelayLogger, type RelayLog } from './logging.js';
export { metricsText } from './metrics-text.js';
export type { RelayOptions } from './options.js';
export { type RelayRun, runRelayProcess } from './process.js';
export { type Relay, type RelayAround, startRelay } from './relay.js';
export type { RelayStatus } from './status.js';
export { findStatusSockets, forgetStatusSocket } from './status-sockets.js';
