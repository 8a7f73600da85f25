export { BoundedLog } from './bounded-log.js';
export { Budget } from './budget.js';
export { LeaseKeeper, type Turn } from './lease-keeper.js';
export { createLogger, type LayerLog } from './logging.js';
export { Upkeep } from './upkeep.js';
