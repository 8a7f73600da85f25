import { describe, expect, it } from 'vitest';
import type { Job } from '../src/api/types.js';
import type { FleetNode, Owner } from '../src/live/fleet.js';
import type { Queue } from '../src/live/queues.js';
import { jobsInNeed, nodesInNeed, pausedQueues } from '../src/overview/needs.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const ago = (ms: number) => new Date(NOW - ms).toISOString();

function node(name: string, owner: Owner, sinceMs: number): [string, FleetNode] {
  const told = {
    job: null,
    reason: 'why',
    via: 'agent' as const,
    dialect: null,
    facts: {},
    labels: {},
    commands: null,
  };
  return [name, { name, owner, since: NOW - sinceMs, ...told }];
}

function job(changed: Partial<Job>): Job {
  const told = { id: '3f', command: 'greet', status: 'complete', run_timeout: 1, quorum: 1, target: null } as const;
  const more = { created_by: 'alice', node_count: 1, aborting: false, reason: null, counts: {} };
  return { ...told, ...more, created_at: ago(1000), updated_at: ago(500), ...changed };
}

describe('what needs somebody', () => {
  it('are nodes that are down, and those that stay in rehab', () => {
    const fleet = new Map([
      node('a', 'down', 0),
      node('b', 'rehab', 1000),
      node('c', 'rehab', 60_000),
      node('d', 'idle', 0),
    ]);
    expect(nodesInNeed('default', fleet, NOW).map(({ what }) => what)).toEqual(['a is down', 'c is in rehab']);
  });

  it('are push jobs that are held, and those that ended badly of late', () => {
    const batch = { number: 1, left: 1, hold: 'failures', until: null, excused: 0 };
    const whys = (jobs: readonly Job[]) => jobsInNeed('default', jobs, NOW).map(({ why }) => why);
    expect(whys([job({ status: 'running', batch })])).toEqual(['is held until somebody continues it']);
    expect(whys([job({ counts: { failed: 2 } })])).toEqual(['failed on 2 nodes']);
    expect(whys([job({ status: 'quorum_failed', reason: 'too few' })])).toEqual(['too few']);
    expect(
      whys([job({}), job({ status: 'aborted' }), job({ status: 'timed_out', created_at: ago(90_000_000) })]),
    ).toEqual([]);
  });

  it('are, of a push job that was run again where it failed, the last run', () => {
    const first = job({ id: '1'.repeat(32), counts: { failed: 2 } });
    const again = job({
      id: '2'.repeat(32),
      counts: { failed: 1 },
      target: `failed, crashed nodes of job ${first.id}`,
    });
    const whys = (jobs: readonly Job[]) => jobsInNeed('default', jobs, NOW).map(({ why }) => why);
    expect(whys([again, first])).toEqual(['failed again on 1 node']);
    expect(whys([{ ...again, status: 'running' }, first])).toEqual([]);
    expect(whys([{ ...again, status: 'aborted' }, first])).toEqual(['failed on 2 nodes']);
    expect(whys([{ ...again, target: `succeeded nodes of job ${first.id}`, counts: {} }, first])).toEqual([
      'failed on 2 nodes',
    ]);
  });

  it('are queues that are paused while something waits, which go on when they are resumed', () => {
    const queue = (id: string, state: string, queued: number) =>
      ({ id, name: id, state, counts: { queued }, updated_at: ago(0) }) as Queue;
    const found = pausedQueues('default', [queue('a', 'paused', 3), queue('b', 'paused', 0), queue('c', 'open', 3)]);
    expect(found.map(({ what, why, paused }) => [what, why, paused])).toEqual([['a is paused', '3 tasks wait', 'a']]);
  });
});
