import { FAULTS } from './chaos.js';

/** What a few hundred runs must come to: every fault, what people do, and the steps of a task. */
export const RARE_IN_TASKS: readonly string[] = [
  ...FAULTS.map((fault) => `fault: ${fault}`),
  ...['cancel', 'hold', 'release', 'retry'].map((action) => `act: ${action}`),
  'a task that waited for others is assigned',
  ...[
    'blocked to queued',
    'claimed to orphaned',
    'claimed to queued',
    'claimed to running',
    'held to queued',
    'queued to cancelled',
    'queued to claimed',
    'queued to held',
    'running to cancelled',
    'running to failed',
    'running to orphaned',
    'running to queued',
    'running to succeeded',
    'running to terminated',
  ].map((step) => `task: ${step}`),
];
