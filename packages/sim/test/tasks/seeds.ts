import { RARE_IN_TASKS } from '../../src/tasks/rare.js';
import { simulateTasks } from '../../src/tasks/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const TASKS = {
  about: 'queues and tasks keep their promises under every fault',
  simulate: simulateTasks,
  rare: RARE_IN_TASKS,
  flags: ' --tasks',
  perTest: 100,
};

export const holdTasksUnderFaults = (first: number, last: number): void => holdUnderFaults(TASKS, first, last);
