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
    ...Array.from({ length: 22 }, (_, n) => node(`h${n}\u001b`, 'unavailable', 'down')),
  ];
  expect(absentLines(nodes)).toEqual([
    '27 of 29 nodes did not take part',
    `  down: ${Array.from({ length: 20 }, (_, n) => `h${n}\\x1b`).join(', ')} and 2 more`,
    '  busy: c, d',
    '  refused, not allowed: e',
    '  permission denied: f',
    '  not started: 3 nodes failed, 2 allowed: g',
  ]);
  // What the busy are busy with is left to others.
  expect([...absence(nodes).told].sort()).toEqual(
    ['e', 'f', 'g', ...Array.from({ length: 22 }, (_, n) => `h${n}\u001b`)].sort(),
  );
  expect([absence(nodes).more, absence(nodes.slice(0, -2)).more]).toEqual([true, false]);
});

test('of more than ten reasons the rest is counted; nothing is told when all took part', () => {
  const nodes = Array.from({ length: 13 }, (_, n) => node(`n${n}`, 'nacked', `cause ${n}`));
  expect(absentLines(nodes)).toHaveLength(12);
  expect(absentLines(nodes).at(-1)).toBe('  for other reasons: 3');
  expect(absentLines([node('a', 'succeeded')])).toEqual([]);
  expect(absentLines([node('a', 'nacked', 'cause')])[0]).toBe('1 of 1 node did not take part');
});
