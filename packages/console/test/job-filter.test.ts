import { expect, it } from 'vitest';
import type { Job } from '../src/api/types.js';
import { fits, isJobFilter, type JobFilter, statusesOf } from '../src/push/job-filter.js';

const WELL: Pick<Job, 'status' | 'counts'> = { status: 'complete', counts: { succeeded: 2 } };
const BADLY: Pick<Job, 'status' | 'counts'> = { status: 'complete', counts: { succeeded: 1, crashed: 1 } };
const RUNNING: Pick<Job, 'status' | 'counts'> = { status: 'running', counts: { failed: 1, running: 1 } };

it.each<[JobFilter[], boolean[]]>([
  [[], [true, true, true]],
  [['complete'], [true, true, false]],
  [['with_failures'], [false, true, false]],
  [
    ['with_failures', 'running'],
    [false, true, true],
  ],
])('of those that are %j', (chosen, expected) => {
  expect([WELL, BADLY, RUNNING].map((job) => fits(job, chosen))).toEqual(expected);
});

it('asks the server for what it knows', () => {
  expect(statusesOf(['with_failures', 'complete', 'new'])).toEqual(['complete', 'new']);
  expect(['with_failures', 'complete', 'none'].map(isJobFilter)).toEqual([true, true, false]);
});
