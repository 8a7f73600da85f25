import { expect, it } from 'vitest';
import { RIGHTS } from './support/layers.js';

/** A group whose name is nearly a role's gives nobody anything, and nothing would say so. */

it.each([
  ['push_job_writer', 'push_job_writers'],
  ['push_jobs_writers', 'push_job_writers'],
  ['Push_Job_Writers', 'push_job_writers'],
  ['push-job-writers', 'push_job_writers'],
  ['pushjobreaders', 'push_job_readers'],
  ['push_job_raeders', 'push_job_readers'],
  ['pushy_job_reader', 'push_job_readers'],
  ['PUSHY_JOB_READERS', 'push_job_readers'],
  ['admin', 'admins'],
  ['Admins', 'admins'],
  ['event_reader', 'event_readers'],
  ['events_writers', 'event_writers'],
  ['event_relay', 'event_relays'],
])('%s is probably %s', (name, role) => {
  expect(RIGHTS.likelyRole(name)).toBe(role);
});

it.each([
  'admins',
  'push_job_writers',
  'push_job_readers',
  'pushy_job_writers',
  'event_readers',
  'event_writers',
  'oncall',
  'dba',
  'db-admins',
  'writers',
  'readers',
  'a',
])('%s is meant', (name) => {
  expect(RIGHTS.likelyRole(name)).toBeNull();
});
