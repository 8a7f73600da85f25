import { noOp, READY } from '@muster/sim';
import type { ServerMessage } from '@muster/wire';
import { describe, expect, test } from 'vitest';

const prepare = (jobId: string): ServerMessage => ({
  type: 'prepare',
  jobId,
  command: 'true',
  capture: false,
  options: {},
});
const WAITING = { state: 'waiting', jobId: 'a' } as const;

describe('a simulated node', () => {
  test('acknowledges prepare and waits', () => {
    expect(noOp(READY, prepare('a'))).toEqual({ state: WAITING, replies: [{ type: 'ack', jobId: 'a' }] });
  });

  test('acknowledges a repeated prepare again (N12)', () => {
    expect(noOp(WAITING, prepare('a'))).toEqual({ state: WAITING, replies: [{ type: 'ack', jobId: 'a' }] });
  });

  test('refuses a second job while it waits for one', () => {
    expect(noOp(WAITING, prepare('b'))).toMatchObject({
      state: WAITING,
      replies: [{ type: 'nack', jobId: 'b', currentJobId: 'a' }],
    });
  });

  test('answers start with started and finished', () => {
    const step = noOp(WAITING, { type: 'start', jobId: 'a' });
    expect(step.state).toEqual(READY);
    expect(step.replies).toMatchObject([
      { type: 'started', jobId: 'a' },
      { type: 'finished', jobId: 'a', outcome: 'succeeded', exitCode: 0 },
    ]);
  });

  test('answers the start of a job it is not waiting for with an error', () => {
    expect(noOp(WAITING, { type: 'start', jobId: 'b' })).toMatchObject({
      state: WAITING,
      replies: [{ type: 'error', jobId: 'b' }],
    });
  });

  test('drops what it waits for when aborted', () => {
    expect(noOp(WAITING, { type: 'abort' })).toEqual({
      state: READY,
      replies: [{ type: 'aborted', jobId: 'a', from: 'waiting', settled: true }],
    });
  });
});
