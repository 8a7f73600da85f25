import { describe } from 'vitest';
import { RARE_IN_TASKS } from '../../src/tasks/rare.js';
import { simulateTasks } from '../../src/tasks/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const TASKS = { simulate: simulateTasks, rare: RARE_IN_TASKS, flags: ' --tasks', perTest: 100 };

export function holdTasksUnderFaults(first: number, last: number): void {
  describe('queues and tasks keep their promises under every fault', () => holdUnderFaults(TASKS, first, last));
}
