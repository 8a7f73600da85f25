import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isReady,
  NEW_TASK,
  newTask,
  stepTask,
  type TaskEvent,
  type TaskRulesNow,
  type TaskState,
} from '../src/machine.js';
import { isActive, isEnded, STATUS } from '../src/status.js';

const NOW = 1_000_000;
const RULES: TaskRulesNow = { retries: 0, backoff: { first: 1, longest: 60 }, orphanRetries: 0 };
const RESULT = { status: 1, retry: false, reason: null, durationMs: 40 };

const claimed: TaskState = { ...NEW_TASK, status: STATUS.claimed, node: 'n1', attempt: 1 };
const running: TaskState = { ...claimed, status: STATUS.running, startedAt: NOW - 100 };
const succeeded: TaskState = { ...running, status: STATUS.succeeded, endedAt: NOW };
const held: TaskState = { ...NEW_TASK, status: STATUS.held, reason: 'held by anna' };
const blocked: TaskState = newTask({ notBefore: null, waitsFor: 2 });

function step(task: TaskState, event: TaskEvent, rules: Partial<TaskRulesNow> = {}) {
  return stepTask(task, event, { ...RULES, ...rules }, NOW);
}

/** Of a task, what came of an event. */
function after(task: TaskState, event: TaskEvent, rules: Partial<TaskRulesNow> = {}): TaskState {
  const result = step(task, event, rules);
  if ('refused' in result) throw new Error(result.refused);
  return result.task;
}

describe('a task', () => {
  test('begins queued, or blocked while it waits for others', () => {
    expect(newTask({ notBefore: null, waitsFor: 0 }).status).toBe(STATUS.queued);
    expect(blocked.status).toBe(STATUS.blocked);
  });

  test('is claimed with the next number, by the node that it is assigned to', () => {
    expect(step(NEW_TASK, { type: 'assign', node: 'n1' })).toEqual({
      task: { ...NEW_TASK, status: STATUS.claimed, node: 'n1', attempt: 1 },
      effects: ['run'],
    });
  });

  test.each([
    ['it waits for a time', { ...NEW_TASK, notBefore: NOW + 1 }],
    ['it waits for others', blocked],
    ['it is held', held],
    ['a node has it', running],
    ['it has ended', succeeded],
  ])('is not assigned while %s', (_, task) => {
    expect(step(task, { type: 'assign', node: 'n2' })).toEqual({ task, effects: [] });
  });

  test('runs when its node says so, and ends as its plugin says', () => {
    expect(after(claimed, { type: 'started' })).toMatchObject({ status: STATUS.running, startedAt: NOW });
    const result = { ...RESULT, status: 44, reason: 'no such file' };
    expect(step(running, { type: 'finished', result })).toMatchObject({
      task: { status: 44, reason: 'no such file', endedAt: NOW, node: 'n1' },
      effects: ['settle'],
    });
    expect(step(running, { type: 'finished', result: RESULT })).toMatchObject({ effects: ['settle', 'recount'] });
  });

  test('that ended before its start was told, began as long ago as it ran', () => {
    expect(after(claimed, { type: 'finished', result: RESULT }).startedAt).toBe(NOW - 40);
  });

  test('that fails is run again as often as its queue says, after waits that double', () => {
    const failed: TaskEvent = { type: 'finished', result: { ...RESULT, status: 2 } };
    const rules = { retries: 3, backoff: { first: 2, longest: 5 } };
    expect(after(running, failed, rules)).toMatchObject({ status: STATUS.queued, failures: 1, notBefore: NOW + 2000 });
    expect(after({ ...running, failures: 1 }, failed, rules)).toMatchObject({ failures: 2, notBefore: NOW + 4000 });
    expect(after({ ...running, failures: 2 }, failed, rules)).toMatchObject({ failures: 3, notBefore: NOW + 5000 });
    expect(after({ ...running, failures: 3 }, failed, rules)).toMatchObject({ status: STATUS.failed, failures: 4 });
  });

  test('whose plugin asks for it is run again also where the queue says nothing', () => {
    const asks: TaskEvent = { type: 'finished', result: { ...RESULT, status: 2, retry: true } };
    expect(after(running, asks).status).toBe(STATUS.queued);
    expect(after({ ...running, failures: 10 }, asks).status).toBe(STATUS.failed);
  });

  test('whose node is lost is orphaned, or queued again as often as its queue says', () => {
    const lost: TaskEvent = { type: 'lost', reason: 'n1 is down' };
    expect(after(running, lost)).toMatchObject({ status: STATUS.orphaned, reason: 'n1 is down', node: 'n1' });
    expect(after(claimed, lost, { orphanRetries: 1 })).toMatchObject({
      status: STATUS.queued,
      orphanings: 1,
      node: null,
    });
    expect(after({ ...running, orphanings: 1 }, lost, { orphanRetries: 1 }).status).toBe(STATUS.orphaned);
  });

  test('that is to be cancelled when its node is lost is not run again', () => {
    const lost: TaskEvent = { type: 'lost', reason: 'n1 is down' };
    expect(after({ ...running, cancelling: true }, lost, { orphanRetries: 5 }).status).toBe(STATUS.orphaned);
  });

  test('is cancelled at once while no node has it, and by its node otherwise', () => {
    const cancel: TaskEvent = { type: 'cancel', reason: 'cancelled by anna' };
    expect(after(NEW_TASK, cancel)).toMatchObject({ status: STATUS.cancelled, reason: 'cancelled by anna' });
    expect(step(running, cancel)).toMatchObject({
      task: { status: STATUS.running, cancelling: true },
      effects: ['kill'],
    });
    const cancelling = { ...running, cancelling: true };
    expect(after(cancelling, { type: 'cancelled', forced: false }).status).toBe(STATUS.cancelled);
    expect(after(cancelling, { type: 'cancelled', forced: true }).status).toBe(STATUS.terminated);
    expect(after({ ...claimed, cancelling: true }, { type: 'returned', reason: '' }).status).toBe(STATUS.cancelled);
  });

  test('that had ended before it was killed ended so, and is not retried', () => {
    const cancelling = { ...running, cancelling: true };
    expect(after(cancelling, { type: 'finished', result: RESULT }).status).toBe(STATUS.succeeded);
    const failed: TaskEvent = { type: 'finished', result: { ...RESULT, status: 2 } };
    expect(after(cancelling, failed, { retries: 5 }).status).toBe(STATUS.failed);
  });

  test('that waits for others is queued when none is left, and blocked again when one is run again', () => {
    expect(after(blocked, { type: 'counted', waitsFor: 1 }).status).toBe(STATUS.blocked);
    expect(step(blocked, { type: 'counted', waitsFor: 0 })).toMatchObject({ task: { status: -2 }, effects: ['offer'] });
    expect(after(NEW_TASK, { type: 'counted', waitsFor: 1 }).status).toBe(STATUS.blocked);
    expect(after(running, { type: 'counted', waitsFor: 1 }).status).toBe(STATUS.running);
  });

  test('that is held comes back to where it was', () => {
    expect(after(held, { type: 'release' })).toMatchObject({ status: STATUS.queued, reason: null });
    expect(after({ ...held, waitsFor: 1 }, { type: 'release' }).status).toBe(STATUS.blocked);
    expect(step({ ...held, notBefore: NOW + 5 }, { type: 'release' })).toMatchObject({ effects: ['wait'] });
  });

  test.each([
    ['hold', running, 'a node has it already; cancel it instead'],
    ['hold', succeeded, 'it has ended already'],
    ['cancel', succeeded, 'it has ended already'],
    ['release', NEW_TASK, 'it is not held'],
    ['retry', running, 'it has not ended'],
  ] as const)('refuses %s where it means nothing, and says why', (type, task, refused) => {
    const event =
      type === 'hold' ? { type, code: -7, reason: '' } : type === 'cancel' ? { type, reason: '' } : { type };
    expect(step(task, event)).toEqual({ refused });
  });

  test('expires only before it began', () => {
    expect(after(NEW_TASK, { type: 'expired' })).toMatchObject({ status: STATUS.cancelled });
    expect(after(running, { type: 'expired' })).toEqual(running);
  });
});

describe('whatever happens to a task', () => {
  const event: fc.Arbitrary<TaskEvent> = fc.oneof(
    fc.constantFrom<TaskEvent>(
      { type: 'assign', node: 'n1' },
      { type: 'due' },
      { type: 'expired' },
      { type: 'started' },
      { type: 'returned', reason: 'r' },
      { type: 'lost', reason: 'r' },
      { type: 'cancel', reason: 'r' },
      { type: 'hold', code: -9, reason: 'r' },
      { type: 'release' },
      { type: 'retry' },
    ),
    fc.nat(2).map((waitsFor): TaskEvent => ({ type: 'counted', waitsFor })),
    fc.boolean().map((forced): TaskEvent => ({ type: 'cancelled', forced })),
    fc
      .record({ status: fc.integer({ min: 1, max: 3 }), retry: fc.boolean() })
      .map((result): TaskEvent => ({ type: 'finished', result: { ...RESULT, ...result } })),
  );

  test('it is well formed, its number never falls, and each assignment has its own', () => {
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), fc.nat(2), fc.nat(2), (events, retries, orphanRetries) => {
        let task: TaskState = NEW_TASK;
        for (const next of events) {
          const result = step(task, next, { retries, orphanRetries });
          if ('refused' in result) continue;
          const { task: now, effects } = result;
          expect(now.attempt - task.attempt).toBe(effects.includes('run') ? 1 : 0);
          if (isActive(now.status)) expect(now.node).toBe('n1');
          else expect(now.cancelling).toBe(false);
          if (now.notBefore !== null) expect(isActive(now.status) || isEnded(now.status)).toBe(false);
          expect(now.endedAt !== null).toBe(isEnded(now.status));
          if (effects.includes('offer')) expect(isReady(now)).toBe(true);
          // Its node is told to forget what it has, whenever it has it no more.
          if (isActive(task.status) && !isActive(now.status)) expect(effects).toContain('settle');
          if (now.status === STATUS.queued) expect(now.waitsFor).toBe(0);
          task = now;
        }
      }),
    );
  });
});
