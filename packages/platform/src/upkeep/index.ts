export { Budget } from './budget.js';
export { createLogger } from './logging.js';
export { Upkeep } from './upkeep.js';
