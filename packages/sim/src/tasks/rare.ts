import { FAULTS } from './chaos.js';

/** What a few hundred runs must come to: every fault, and steps that few runs see. */
export const RARE_IN_TASKS: readonly string[] = [
  ...FAULTS.map((fault) => `fault: ${fault}`),
  ...['cancel', 'hold', 'release', 'retry'].map((action) => `act: ${action}`),
];
