export { type BareExchange, type BareExchangeOptions, bareExchange } from './load/bare-exchange.js';
export { type NoOpState, type NoOpStep, noOp, READY } from './load/no-op.js';
export type { Credentials } from './load/signed-call.js';
export {
  type PreparedNodes,
  prepareSimulatedNodes,
  type SimulatedNodes,
  type SimulatedNodesOptions,
  startSimulatedNodes,
} from './load/simulated-nodes.js';
export { TaskLoad, type TaskLoadOptions } from './load/task-load.js';
