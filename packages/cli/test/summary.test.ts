import { expect, test } from 'vitest';
import { isSuccess, type JobNode, type PushJobNodeStatus } from '../src/api.js';
import { nodeLine, summaryLines, timeText, zonedTimeText } from '../src/summary.js';

function nodes(count: number, status: PushJobNodeStatus, reason: string | null = null) {
  return Array.from({ length: count }, () => ({ status, reason }));
}

test('Push Jobs §1.1: a summary counts nodes in the seed’s wording', () => {
  const job = [
    ...nodes(1, 'ready'),
    ...nodes(1, 'nacked', 'busy with job 234'),
    ...nodes(1, 'unavailable', 'down'),
    ...nodes(14, 'running'),
    ...nodes(4, 'failed'),
    ...nodes(20, 'succeeded'),
  ];
  expect(summaryLines(job)).toEqual([
    '1  node acknowledged, not started',
    '1  node not available, busy',
    '1  node not available, down',
    '14 nodes started',
    '4  nodes completed with errors',
    '20 nodes completed successfully',
  ]);
});

test('reasons that differ only in their details count together', () => {
  const job = [...nodes(1, 'nacked', 'busy with job 1'), ...nodes(2, 'nacked', 'busy with job 2')];
  expect(summaryLines(job)).toEqual(['3 nodes not available, busy']);
});

test('a node that refuses for another reason than being busy is said to have refused', () => {
  expect(summaryLines(nodes(1, 'nacked'))).toEqual(['1 node refused']);
  expect(summaryLines(nodes(2, 'nacked', 'permission denied'))).toEqual(['2 nodes refused, permission denied']);
});

test.each([
  ['new', '1 node not answered yet'],
  ['was_ready', '1 node acknowledged, not started'],
  ['aborted', '1 node aborted'],
  ['timed_out', '1 node timed out'],
  ['crashed', '1 node crashed'],
] as const)('a node that is %s has its own wording', (status, line) => {
  expect(summaryLines(nodes(1, status))).toEqual([line]);
});

test('an empty job has an empty summary', () => {
  expect(summaryLines([])).toEqual([]);
});

test('Push Jobs §1.1: one node is one line', () => {
  const node: JobNode = {
    node_name: 'foo',
    status: 'failed',
    reason: null,
    exit_code: 1,
    signal: null,
    started_at: null,
    updated_at: new Date(2012, 4, 4, 0, 0, 7).toUTCString(),
  };
  expect(nodeLine({ id: '235' }, node)).toBe('node foo Failed running job id 235 at 2012-05-04 00:00:07');
});

test('sheet §8.4: a complete job whose started nodes all succeeded is a success', () => {
  expect(isSuccess({ status: 'complete', nodes: { succeeded: ['a'], nacked: ['b'], unavailable: ['c'] } })).toBe(true);
});

test.each(['failed', 'crashed', 'timed_out', 'aborted', 'was_ready'] as const)(
  'sheet §8.4: a node that is %s makes the job no success',
  (status) => {
    expect(isSuccess({ status: 'complete', nodes: { succeeded: ['a'], [status]: ['b'] } })).toBe(false);
  },
);

test.each(['quorum_failed', 'timed_out', 'aborted', 'crashed', 'running'] as const)(
  'sheet §8.4: a job that is %s is no success',
  (status) => {
    expect(isSuccess({ status, nodes: { succeeded: ['a'] } })).toBe(false);
  },
);

test('a time of another zone says what clocks here show', () => {
  const at = '2026-11-29T18:00:00.000Z';
  const here = timeText(at);
  expect(zonedTimeText(at, 'Asia/Kathmandu')).toBe(`2026-11-29 23:45:00 in Asia/Kathmandu (here ${here})`);
  expect(zonedTimeText(at, Intl.DateTimeFormat().resolvedOptions().timeZone)).toBe(here);
});
