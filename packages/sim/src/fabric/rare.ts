import { TREE_FAULTS } from './plan.js';

/** What some hundred runs of trees must come to: every fault, and states and moments that few of them see. */
export const RARE_IN_TREES: readonly string[] = [
  ...TREE_FAULTS.map((fault) => `fault: ${fault}`),
  'commit: fails',
  'commit: unknown, and not stored',
  'commit: unknown, and stored',
  'durable: acknowledged in vain',
  'durable: acknowledged out of turn',
  'durable: acknowledged several',
  'durable: acknowledgement unconfirmed',
  'durable: delivered again after NACK',
  'durable: forgotten',
  'durable: given up',
  'durable: resumed',
  'durable: stored out of turn',
  'event: confirmed',
  'event: failed, not logged',
  'event: sent, not logged',
  'relay: degraded',
  'relay: drop',
  'relay: stopped',
];
