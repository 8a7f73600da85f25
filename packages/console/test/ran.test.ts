import { describe, expect, it } from 'vitest';
import type { JobNode } from '../src/api/types.js';
import { span } from '../src/parts/duration.js';
import { didNotRun, endedAt, ranMs } from '../src/push/ran.js';

describe('nodes that did not run a command', () => {
  it('are told by why, and those that did are not', () => {
    const node = (node_name: string, status: JobNode['status'], reason: string | null) =>
      ({ node_name, status, reason }) as JobNode;
    const nodes = [
      node('a', 'succeeded', null),
      node('b', 'unavailable', 'down'),
      node('c', 'nacked', 'not allowed'),
      node('d', 'unavailable', 'busy'),
      node('e', 'unavailable', 'busy'),
      node('f', 'was_ready', null),
    ];
    expect(didNotRun(nodes)).toEqual([
      { status: 'nacked', reason: 'not allowed', names: ['c'] },
      { status: 'unavailable', reason: 'busy', names: ['d', 'e'] },
      { status: 'unavailable', reason: 'down', names: ['b'] },
      { status: 'was_ready', reason: '', names: ['f'] },
    ]);
  });
});

describe('how long a command ran', () => {
  const at = (second: number): string => new Date(second * 1000).toISOString();

  it('is from its start to its end, as the server saw them', () => {
    expect(ranMs({ status: 'failed', started_at: at(10), updated_at: at(12) })).toBe(2000);
    expect(endedAt({ status: 'failed', updated_at: at(12) })).toBe(12_000);
  });

  it('is not known of what did not start, goes on, or was only seen to end', () => {
    expect(ranMs({ status: 'nacked', started_at: null, updated_at: at(12) })).toBeNull();
    expect(ranMs({ status: 'running', started_at: at(10), updated_at: at(10) })).toBeNull();
    expect(ranMs({ status: 'succeeded', started_at: at(12), updated_at: at(12) })).toBeNull();
    expect(endedAt({ status: 'running', updated_at: at(10) })).toBeNull();
  });

  it.each([
    [20, '< 0.1 s'],
    [2149, '2.1 s'],
    [9960, '9.9 s'],
    [61_000, '1 min 1 s'],
    [120_000, '2 min'],
    [3_723_000, '1 h 2 min'],
    [90_000_000, '1 d 1 h'],
  ])('%i ms are said as %s', (ms, said) => {
    expect(span(ms)).toBe(said);
  });
});
