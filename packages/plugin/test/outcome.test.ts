import { describe, expect, it } from 'vitest';
import { judgeOutcome, judgeThrown } from '../src/contract/index.js';

describe('the outcome of a module plugin', () => {
  it.each([undefined, null, {}, { other: 1 }])('%j is success', (returned) => {
    expect(judgeOutcome(returned)).toEqual({ status: 1, retry: false, reason: null, stdout: null, stderr: null });
  });

  it('keeps status and outputs', () => {
    expect(judgeOutcome({ status: 44, stdout: 'a', stderr: 'b' })).toMatchObject({
      status: 44,
      stdout: 'a',
      stderr: 'b',
    });
  });

  it('that asks for another run has failed, unless it says that it succeeded', () => {
    expect(judgeOutcome({ retry: true })).toMatchObject({ status: 2, retry: true });
    expect(judgeOutcome({ status: 1, retry: true })).toMatchObject({ status: 1, retry: false });
  });

  it.each(['text', 1, true, [1], () => 1])('of %s is a failure that says what to return', (returned) => {
    expect(judgeOutcome(returned)).toMatchObject({ status: 2, reason: expect.stringContaining('return nothing, or') });
  });

  it.each([0, -1, 1.5, '1', Number.NaN, 2 ** 31])('with the status %s is a failure', (status) => {
    expect(judgeOutcome({ status })).toMatchObject({ status: 2, reason: expect.stringContaining('whole number') });
  });

  it('keeps output that is no text as its JSON, also where there is none', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(judgeOutcome({ stdout: { a: 1 }, stderr: circle })).toMatchObject({
      stdout: '{"a":1}',
      stderr: 'a object that cannot be written as JSON',
    });
  });

  it('is a failure when it throws, with the stack on stderr', () => {
    expect(judgeThrown(new TypeError('no file'))).toMatchObject({
      status: 2,
      retry: false,
      reason: 'TypeError: no file',
      stderr: expect.stringContaining('outcome.test'),
    });
    expect(judgeThrown('text')).toMatchObject({ reason: 'Error: "text"' });
    expect(judgeThrown(Object.assign(new Error('busy'), { retry: true }))).toMatchObject({ retry: true });
  });
});
