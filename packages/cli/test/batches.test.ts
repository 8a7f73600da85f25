import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { type BatchOptions, batchesText, batchLine, batchSizes } from '../src/commands/push/batches.js';
import { addRequestFlags } from '../src/commands/push/job-flags.js';
import { type JobOptions, jobOptions, requestWithoutCommand } from '../src/commands/push/request.js';
import { Tally } from '../src/tally.js';

function read(flags: string): BatchOptions {
  const words = flags.split(' ').filter((word) => word !== '');
  return addRequestFlags(new Command()).exitOverride().parse(words, { from: 'user' }).opts();
}

describe('the sizes of batches', () => {
  test.each([
    ['', undefined],
    ['--batch 10%', ['10%']],
    ['--first 1', [1, 'rest']],
    ['--first 1 --then 10% --then rest', [1, '10%', 'rest']],
    ['--first 1 --batch 10% --pause 30s', [1, '10%']],
    ['--batch 5 --confirm', [5]],
  ])('%s', (flags, sizes) => expect(batchSizes(read(flags))).toEqual(sizes));

  test.each([
    ['--then 1', '--then goes with --first'],
    ['--first 1 --then rest --then 2', 'no further batch'],
    ['--first 1 --then rest --batch 3', 'no further batch'],
    ['--first 1 --then all', 'or rest'],
    ['--batch 0%', '--batch takes at least one node'],
    ['--first 0', '--first takes at least one node'],
    ['--concurrency 0', '--concurrency takes at least one node'],
  ])('%s is refused', (flags, reason) => expect(() => batchSizes(read(flags))).toThrow(reason));
});

test.each([
  ['', null],
  [
    '--first 1 --then 10% --then rest --confirm',
    'Batches: 1, then 10%, then the rest; after each it waits for push continue',
  ],
  ['--batch 25% --pause 90s', 'Batches: 25% each; 1m 30s between them'],
  ['--first 1 --batch 5', 'Batches: 1, then 5 each'],
])('a dry run of %j tells %j', (flags, told) => expect(batchesText(jobOptions(read(flags), '/'))).toBe(told));

const started = (options: JobOptions) => requestWithoutCommand({ nodes: ['a'] }, options, '/');

test.each([
  ['--pause 30s', '--pause goes with --batch or --first', { batch_pause: 30 }],
  ['--confirm', '--confirm goes with --batch or --first', { batch_confirm: true }],
])('%s without batches is refused, unless it changes what may have some', (flags, reason, changed) => {
  expect(() => started(read(flags))).toThrow(reason);
  expect(jobOptions(read(flags), '/')).toEqual(changed);
});

test('how failures are taken says nothing without how many', () => {
  expect(() => started({ onFailures: 'hold' })).toThrow('--on-failures goes with --max-failures');
  expect(started({ onFailures: 'hold', maxFailures: 0 })).toMatchObject({ on_failures: 'hold', max_failures: 0 });
  // Of a schedule that says how many already.
  expect(jobOptions({ onFailures: 'hold' }, '/')).toEqual({ on_failures: 'hold' });
});

test('whoever watches is told what is next, and of nothing else', () => {
  const none = new Tally();
  const line = (data: unknown, name = 'batch', soFar = none) =>
    batchLine({ id: 'JOB', batches: [1, 20] }, { id: '1', name, data }, soFar);
  expect(line({ batch: 1, status: 'begun' })).toBe('batch 1 begins: 1 node');
  expect(line({ batch: 3, status: 'begun' })).toBe('batch 3 begins: at most 20 nodes');
  expect(batchLine({ id: 'JOB' }, { id: '1', name: 'batch', data: { batch: 2, status: 'begun' } }, none)).toBe(
    'batch 2 begins',
  );
  expect(line({ batch: 1, status: 'continued' })).toBe('the job goes on');
  expect(line({ batch: 1, status: 'confirm' })).toContain('muster push continue JOB');
  expect(line({ batch: 1, status: 'failures' })).toContain('muster push abort JOB');
  expect([line({ batch: 1, status: 'later' }), line(null), line({ node: 'web1' }, 'run_start')]).toEqual([
    null,
    null,
    null,
  ]);
});

test('a batch is told with no more nodes than are left', () => {
  const soFar = new Tally();
  const apply = (name: string, data: object) => soFar.apply({ id: '1', name, data });
  const begins = (batch: number) =>
    batchLine({ id: 'JOB', batches: [10, 4] }, { id: '1', name: 'batch', data: { batch, status: 'begun' } }, soFar);
  apply('start', { node_count: 4 });
  for (const node of ['a', 'b']) apply('quorum_vote', { node, status: 'success' });
  expect(begins(1)).toBe('batch 1 begins: at most 4 nodes');
  apply('quorum_vote', { node: 'c', status: 'failure' });
  apply('quorum_vote', { node: 'd', status: 'success' });
  expect(begins(1)).toBe('batch 1 begins: 3 nodes');
  for (const node of ['a', 'b']) apply('run_complete', { node, status: 'success' });
  expect(begins(2)).toBe('batch 2 begins: 1 node');
});
