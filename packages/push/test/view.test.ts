import { describe, expect, it } from 'vitest';
import { jobNode, listedJob, singleJob } from '../src/routes/view.js';
import { jobId, jobNodeRow, jobRow } from './support/push-rows.js';

const PLAIN = { includeFile: false, detail: false };
const NODES = [
  { node: 'NODE1', status: 'running' },
  { node: 'NODE2', status: 'succeeded' },
  { node: 'NODE5', status: 'running' },
];

describe('sheet §7.7: the job object', () => {
  it('has exactly the deployed keys for a plain job', () => {
    expect(singleJob(jobRow(), NODES, PLAIN)).toEqual({
      id: jobId(1),
      command: 'chef-client',
      status: 'running',
      run_timeout: 3600,
      created_at: 'Tue, 04 Sep 2012 23:01:02 GMT',
      updated_at: 'Tue, 04 Sep 2012 23:17:56 GMT',
      nodes: { running: ['NODE1', 'NODE5'], succeeded: ['NODE2'] },
    });
  });

  it('shows options as given at creation, in the list too', () => {
    const options = { user: 'bob', dir: '/tmp', env: {}, file: 'raw:x' };
    const row = jobRow({}, { options, capture: true });
    const shown = { user: 'bob', dir: '/tmp', env: {}, capture_output: true, file_specified: true };
    expect(singleJob(row, [], PLAIN)).toMatchObject(shown);
    const listed = listedJob(row, null);
    expect(listed).toMatchObject(shown);
    expect(listed).not.toHaveProperty('nodes');
    expect(listed).not.toHaveProperty('file');
  });

  it('include_file replaces file_specified by the file', () => {
    const row = jobRow({}, { options: { file: 'raw:x' } });
    const job = singleJob(row, [], { ...PLAIN, includeFile: true });
    expect(job).toMatchObject({ file: 'raw:x' });
    expect(job).not.toHaveProperty('file_specified');
  });

  it('shows our options when they were given', () => {
    const row = jobRow({}, { nodeTimeout: 5, ackTimeout: 2, concurrency: 3, startRate: 0.5, maxFailures: 0 });
    expect(singleJob(row, [], PLAIN)).toMatchObject({
      node_timeout: 5,
      ack_timeout: 2,
      concurrency: 3,
      start_rate: 0.5,
      max_failures: 0,
    });
  });

  it('detail adds what the deployed server never returned', () => {
    const row = jobRow({ phase: 'aborting', ending: 'aborted', reason: 'aborted by bob', deadline: 0 });
    expect(singleJob(row, NODES, { ...PLAIN, detail: true })).toMatchObject({
      quorum: 1,
      voting_timeout: 60,
      target: 'DONKEY',
      created_by: 'bob',
      node_count: 1,
      aborting: true,
      ending: 'aborted',
      reason: 'aborted by bob',
      deadline: 'Thu, 01 Jan 1970 00:00:00 GMT',
      counts: { running: 2, succeeded: 1 },
    });
  });
});

describe('a node of a job', () => {
  it('tells how it ended', () => {
    const row = jobNodeRow({ status: 'failed', exit_code: 3, started_at: 0, stdout_bytes: 7 });
    expect(jobNode(row)).toEqual({
      node_name: 'DONKEY',
      status: 'failed',
      reason: null,
      exit_code: 3,
      signal: null,
      started_at: '1970-01-01T00:00:00.000Z',
      updated_at: '2012-09-04T23:17:56.000Z',
      stdout_bytes: 7,
      stderr_bytes: null,
    });
  });
});
