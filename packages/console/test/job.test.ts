import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FINAL_NODE_STATUSES, type Job, type JobNode } from '../src/api/types.js';
import type { LiveEvent } from '../src/live/event.js';
import { applyToJob, countNodes, liveJob, progress } from '../src/live/job.js';
import { applyToJobs } from '../src/live/jobs.js';

const JOB: Job = {
  id: 'j1',
  command: 'uptime',
  status: 'voting',
  run_timeout: 3600,
  created_at: 'Mon, 23 Nov 2026 08:00:00 GMT',
  updated_at: 'Mon, 23 Nov 2026 08:00:00 GMT',
  quorum: 2,
  target: 'role:web',
  created_by: 'alice',
  node_count: 2,
  aborting: false,
  reason: null,
  counts: {},
};

function jobNode(name: string): JobNode {
  return {
    node_name: name,
    status: 'new',
    reason: null,
    exit_code: null,
    signal: null,
    started_at: null,
    updated_at: '2026-11-23T08:00:00Z',
    stdout_bytes: null,
    stderr_bytes: null,
  };
}

const START = liveJob(JOB, [jobNode('web1'), jobNode('web2')]);

function event(position: number, type: string, attributes: Readonly<Record<string, string>>): LiveEvent {
  return {
    position,
    type,
    at: position * 1000,
    source: 'muster',
    attributes: Object.entries({ type, ...attributes }),
    contentType: null,
    body: '',
  };
}

type Told = readonly [type: string, attributes: Readonly<Record<string, string>>];

const READY: Told = ['push.quorum_vote', { status: 'success', node_status: 'ready' }];
const BEGUN: Told = ['push.run_start', {}];
const done = (status: string, own: string, result = {}): Told => [
  'push.run_complete',
  { status, node_status: own, ...result },
];

/** What a node goes through in a job, as its events tell it. */
const WAYS: readonly (readonly Told[])[] = [
  [READY, BEGUN, done('success', 'succeeded', { exit_code: '0', stdout_bytes: '5', stderr_bytes: '0' })],
  [READY, BEGUN, done('failure', 'failed', { exit_code: '3', reason: 'exited with 3' })],
  [READY, BEGUN, done('crashed', 'crashed', { reason: 'down while executing' })],
  [
    ['push.job_node', { status: 'new', reason: 'waits: busy' }],
    READY,
    BEGUN,
    done('failure', 'failed', { signal: 'SIGKILL' }),
  ],
  [['push.quorum_vote', { status: 'failure', node_status: 'nacked', reason: 'not allowed' }]],
  [['push.quorum_vote', { status: 'down', node_status: 'unavailable', reason: 'down' }]],
  [
    ['push.quorum_vote', { status: 'voting_timeout', node_status: 'new' }],
    ['push.job_node', { status: 'unavailable', reason: 'no answer to prepare' }],
  ],
  [READY, ['push.job_node', { status: 'was_ready', reason: 'not started: the quorum failed' }]],
];

/** Events of both nodes, each in its order, mixed, with those of the job among them. */
const history = fc
  .tuple(fc.constantFrom(...WAYS), fc.constantFrom(...WAYS), fc.infiniteStream(fc.boolean()))
  .map(([first, second, coins]) => {
    const left = [...first];
    const right = [...second];
    const events: LiveEvent[] = [event(1, 'push.start', { job: 'j1' })];
    while (left.length + right.length > 0) {
      const takeLeft = right.length === 0 || (left.length > 0 && coins.next().value === true);
      const [type, attributes] = (takeLeft ? left.shift() : right.shift()) ?? ['push.none', {}];
      const node = takeLeft ? 'web1' : 'web2';
      events.push(event(events.length + 1, type, { job: 'j1', node, ...attributes }));
    }
    events.push(event(events.length + 1, 'push.job_complete', { job: 'j1', status: 'complete' }));
    return events;
  });

describe('a push job', () => {
  it('is the same whether it was read before, among or after its events', () => {
    fc.assert(
      fc.property(history, fc.nat(), fc.nat(), (events, a, b) => {
        const [from, read] = [a % (events.length + 1), b % (events.length + 1)].sort((x, y) => x - y) as [
          number,
          number,
        ];
        const end = applyToJob(START, events);
        const again = applyToJob(applyToJob(START, events.slice(0, read)), events.slice(from));
        const plain = ({ job, nodes }: typeof end) => [job.status, [...nodes]];
        expect(plain(again)).toEqual(plain(end));
      }),
    );
  });

  it('ends with all its nodes ended, and never takes an end back', () => {
    fc.assert(
      fc.property(history, (events) => {
        const end = applyToJob(START, events);
        for (const { status } of end.nodes) expect(FINAL_NODE_STATUSES.has(status)).toBe(true);
        expect(applyToJob(end, events).nodes).toBe(end.nodes);
        const { done, total } = progress(countNodes(end.nodes));
        expect([done, total]).toEqual([2, 2]);
      }),
    );
  });

  it('has of each node what its events tell: status, exit code, signal, reason and how much it wrote', () => {
    const told = { node_status: 'failed', exit_code: '3', signal: 'SIGKILL', reason: 'killed', stdout_bytes: '12' };
    const attributes = { job: 'j1', node: 'web1', status: 'failure', ...told, stderr_bytes: '0' };
    const { nodes, stale } = applyToJob(START, [event(2, 'push.run_complete', attributes)]);
    expect(nodes[0]).toMatchObject({
      ...{ status: 'failed', exit_code: 3, signal: 'SIGKILL', reason: 'killed' },
      ...{ stdout_bytes: 12, stderr_bytes: 0, updated_at: '1970-01-01T00:00:02.000Z' },
    });
    expect(stale).toBe(false);
  });

  it('stays new where a node has not voted in time, and may still be started', () => {
    const late = event(2, 'push.quorum_vote', {
      job: 'j1',
      node: 'web1',
      status: 'voting_timeout',
      node_status: 'new',
    });
    expect(applyToJob(START, [late]).nodes[0]?.status).toBe('new');
  });

  it('is read again when it has ended: only the server knows its batches and why it ended', () => {
    expect(applyToJob(START, [event(1, 'push.run_start', { job: 'j1', node: 'web1' })]).stale).toBe(false);
    expect(applyToJob(START, [event(1, 'push.job_complete', { job: 'j1', status: 'aborted' })]).stale).toBe(true);
  });

  it('is not concerned by other jobs', () => {
    expect(applyToJob(START, [event(1, 'push.run_start', { job: 'j2', node: 'web1' })])).toBe(START);
  });

  it('goes on aborting until it has ended', () => {
    const aborting = applyToJob(START, [event(1, 'push.job', { job: 'j1', status: 'voting', phase: 'aborting' })]);
    expect(aborting.job).toMatchObject({ status: 'voting', aborting: true });
    const aborted = applyToJob(aborting, [event(2, 'push.job_complete', { job: 'j1', status: 'aborted' })]);
    expect(aborted.job).toMatchObject({ status: 'aborted', aborting: false });
  });
});

describe('a list of push jobs', () => {
  it('has what events say of those in it, and asks for what only the list has', () => {
    const ended = event(1, 'push.job_complete', { job: 'j1', status: 'complete' });
    expect(applyToJobs([JOB], [ended])).toMatchObject({ stale: true, jobs: [{ status: 'complete' }] });
    expect(applyToJobs([{ ...JOB, status: 'aborted' }], [ended]).jobs[0]?.status).toBe('aborted');
    expect(applyToJobs([JOB], [event(2, 'node.up', { node: 'web1', job: 'j1' })]).stale).toBe(false);
  });
});
