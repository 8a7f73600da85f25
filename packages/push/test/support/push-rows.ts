import type { JobNodeRow, JobRow } from '../../src/repository/writes.js';
import type { PushJobSpec } from '../../src/types.js';

/** Rows of push jobs. */

export const ORG = 'c'.repeat(32);
export const OTHER_ORG = 'd'.repeat(32);

export const jobId = (number: number): string => number.toString(16).padStart(32, '0');

export const SPEC: PushJobSpec = {
  command: 'chef-client',
  options: {},
  capture: false,
  quorum: 1,
  runTimeout: 3600,
  votingTimeout: 60,
  ackTimeout: null,
  nodeTimeout: null,
  concurrency: null,
  startRate: null,
  maxFailures: null,
  target: 'DONKEY',
};

export function jobRow(given: Partial<JobRow> & { spec?: string } = {}, spec: Partial<PushJobSpec> = {}): JobRow {
  const whole = { ...SPEC, ...spec };
  return {
    id: jobId(1),
    org_id: ORG,
    command: whole.command,
    spec: JSON.stringify(whole),
    requester: 'bob',
    status: 'running',
    phase: 'running',
    ending: null,
    reason: null,
    node_count: 1,
    created_at: Date.UTC(2012, 8, 4, 23, 1, 2),
    updated_at: Date.UTC(2012, 8, 4, 23, 17, 56),
    deadline: null,
    stage: null,
    ...given,
  };
}

export function jobNodeRow(given: Partial<JobNodeRow> = {}): JobNodeRow {
  return {
    job_id: jobId(1),
    node: 'DONKEY',
    status: 'running',
    starting: 0,
    reason: null,
    exit_code: null,
    signal: null,
    started_at: null,
    updated_at: Date.UTC(2012, 8, 4, 23, 17, 56),
    stdout_bytes: null,
    stderr_bytes: null,
    output_missing: null,
    output_hash: null,
    ...given,
  };
}
