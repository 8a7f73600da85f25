export { type BareExchange, type BareExchangeOptions, bareExchange } from './bare-exchange.js';
export { type NoOpState, type NoOpStep, noOp, READY } from './no-op.js';
export type { Credentials } from './signed-call.js';
export {
  type PreparedNodes,
  prepareSimulatedNodes,
  type SimulatedNodes,
  type SimulatedNodesOptions,
  startSimulatedNodes,
} from './simulated-nodes.js';
