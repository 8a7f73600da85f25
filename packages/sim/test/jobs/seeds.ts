import { describe } from 'vitest';
import { RARE_IN_JOBS } from '../../src/jobs/rare.js';
import { simulateJobs } from '../../src/jobs/run.js';
import { holdUnderFaults } from '../kernel/hold.js';

const JOBS = { simulate: simulateJobs, rare: RARE_IN_JOBS, flags: ' --jobs', perTest: 100 };

export function holdJobsUnderFaults(first: number, last: number): void {
  describe('jobs keep their promises under every fault', () => holdUnderFaults(JOBS, first, last));
}
