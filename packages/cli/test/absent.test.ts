import { expect, test } from 'vitest';
import { absence } from '../src/absent.js';
import type { JobNode } from '../src/api.js';

const absentLines = (nodes: Parameters<typeof absence>[0]) => absence(nodes).lines;

const node = (node_name: string, status: JobNode['status'], reason: string | null = null) => ({
  node_name,
  status,
  reason,
});

test('who did not take part is told by why, the most first', () => {
  const nodes = [
    node('a', 'succeeded'),
    node('b', 'failed', 'exit status 1'),
    node('c', 'nacked', 'busy with job 1'),
    node('d', 'nacked', 'busy with job 2'),
    node('e', 'nacked', 'not allowed'),
    node('f', 'nacked', 'permission denied'),
    node('g', 'was_ready', 'not started: 3 nodes failed, 2 allowed'),
    ...Array.from({ length: 7 }, (_, n) => node(`h${n}\u001b`, 'unavailable', 'down')),
  ];
  expect(absentLines(nodes)).toEqual([
    '12 of 14 nodes did not take part',
    '  down: h0\\x1b, h1\\x1b, h2\\x1b, h3\\x1b, h4\\x1b and 2 more',
    '  busy: c, d',
    '  refused, not allowed: e',
    '  permission denied: f',
    '  not started: 3 nodes failed, 2 allowed: g',
  ]);
  // What the busy are busy with, and who is not named, is left to others.
  expect([...absence(nodes).told].sort()).toEqual([
    'e',
    'f',
    'g',
    ...Array.from({ length: 5 }, (_, n) => `h${n}\u001b`),
  ]);
});

test('of more than ten reasons the rest is counted; nothing is told when all took part', () => {
  const nodes = Array.from({ length: 13 }, (_, n) => node(`n${n}`, 'nacked', `cause ${n}`));
  expect(absentLines(nodes)).toHaveLength(12);
  expect(absentLines(nodes).at(-1)).toBe('  for other reasons: 3');
  expect(absentLines([node('a', 'succeeded')])).toEqual([]);
  expect(absentLines([node('a', 'nacked', 'cause')])[0]).toBe('1 of 1 node did not take part');
});
