import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BulkRun } from '../src/api/types.gen.js';
import { applyToBulk } from '../src/live/bulk.js';
import type { LiveEvent } from '../src/live/event.js';
import { applyToQueues, endedLastMinute, type Queue } from '../src/live/queues.js';
import { applyToTasks, type ListedTask } from '../src/live/tasks.js';
import { countFor, noneFor, selectorOf, whereFor } from '../src/tasks/actions.js';
import { changedSince, counted, NOTHING_COUNTED } from '../src/tasks/bulk-steps.js';
import { changesOf, commandFor, givenOf } from '../src/tasks/settings-fields.js';

function event(
  position: number,
  type: string,
  attributes: Readonly<Record<string, string>>,
  data: unknown = {},
): LiveEvent {
  return {
    position,
    type,
    at: 1_700_000_000_000 + position * 1000,
    source: 'muster',
    attributes: Object.entries({ type, ...attributes }),
    contentType: 'application/json',
    body: JSON.stringify(data),
  };
}

const TASK: ListedTask = {
  ...{ id: 't1', queue: 'resize', queue_id: 'q1', plugin: 'thumbnail', params: { n: 1 }, status: 'queued', code: -2 },
  ...{ node: null, attempt: 0, failures: 0, orphanings: 0, priority: 0, key: null, requester: 'alice', reason: null },
  ...{ cancelling: false, waits_for: 0, not_before: null, expires_at: null, started: null, ended: null },
  ...{ ctime: '2026-11-22T10:00:00.000Z', mtime: '2026-11-22T10:00:00.000Z' },
  ...{ exit_code: null, signal: null, complete: null },
};
const TASKS = ['t1', 't2', 't3'].map((id): ListedTask => ({ ...TASK, id }));

const task = fc.constantFrom('t1', 't2', 't3', 'other');
const attempt = fc.integer({ min: 1, max: 3 }).map(String);
const node = fc.constantFrom('web1', 'web2');
/** What the server may tell of tasks, in any order. */
const history = fc
  .array(
    fc.oneof(
      fc.record({ type: fc.constantFrom('task.claimed', 'task.running'), task, attempt, node }),
      fc.record({ type: fc.constant('task.ended'), task, attempt, status: fc.constantFrom('succeeded', 'failed') }),
      fc.record({ type: fc.constant('task.waiting'), task, attempt, status: fc.constantFrom('queued', 'held') }),
      fc.record({ type: fc.constantFrom('task.cancelling', 'task.added'), task, attempt }),
      fc.record({ type: fc.constant('task.removed'), task: fc.constant('t3') }),
      fc.record({ type: fc.constant('queue.changed') }),
    ),
    { maxLength: 40 },
  )
  .map((steps) => {
    const gone = steps.findIndex(({ type }) => type === 'task.removed');
    // Nothing is told of a task after it was deleted.
    const possible = steps.filter(
      (step, index) => gone < 0 || index <= gone || !('task' in step) || step.task !== 't3',
    );
    return possible.map(({ type, ...attributes }, index) =>
      event(index + 1, type, { queue: 'q1', code: '1', ...attributes }, { reason: `at ${index}`, node: 'web1' }),
    );
  });

const after = (tasks: readonly ListedTask[], events: readonly LiveEvent[]) => applyToTasks(tasks, events, false).state;

describe('a list of tasks', () => {
  it('is the same whether events come one by one or together', () => {
    fc.assert(
      fc.property(history, (events) => {
        const apart = events.reduce<readonly ListedTask[]>((tasks, each) => after(tasks, [each]), TASKS);
        expect(apart).toEqual(after(TASKS, events));
      }),
    );
  });

  it('is the same when it was read later than it is followed from: what comes twice is harmless', () => {
    fc.assert(
      fc.property(history, fc.nat(), fc.nat(), (events, a, b) => {
        const [from = 0, read = 0] = [a % (events.length + 1), b % (events.length + 1)].sort((x, y) => x - y);
        expect(after(after(TASKS, events.slice(0, read)), events.slice(from))).toEqual(after(TASKS, events));
      }),
    );
  });

  it('stays the same object when nothing concerns it', () => {
    const events = [event(1, 'task.running', { task: 'other', attempt: '1', node: 'web1' })];
    expect(applyToTasks(TASKS, events, false)).toEqual({ state: TASKS, stale: false });
    expect(after(TASKS, events)).toBe(TASKS);
  });

  it('is read again where events do not tell all: new tasks, how one ended, and what a filter lets in', () => {
    const stale = (type: string, filtered: boolean) =>
      applyToTasks(TASKS, [event(1, type, { task: 't1', attempt: '1', status: 'failed' })], filtered).stale;
    expect([stale('task.added', false), stale('task.ended', false), stale('task.running', true)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(stale('task.running', false)).toBe(false);
  });

  it('knows how a task goes on', () => {
    const steps = [
      event(1, 'task.claimed', { task: 't1', attempt: '1', node: 'web1' }),
      event(2, 'task.running', { task: 't1', attempt: '1', node: 'web1' }),
      event(
        3,
        'task.ended',
        { task: 't1', attempt: '1', status: 'failed', code: '2' },
        { node: 'web1', reason: 'exit 3' },
      ),
    ];
    const [ended] = after(TASKS, steps);
    expect(ended).toMatchObject({ status: 'failed', code: 2, node: 'web1', reason: 'exit 3', attempt: 1 });
    expect(Date.parse(ended?.ended ?? '') - Date.parse(ended?.started ?? '')).toBe(1000);
    const [waiting] = after(TASKS, [
      ...steps,
      event(4, 'task.waiting', { task: 't1', attempt: '1', status: 'queued', code: '-2' }, { not_before: 0 }),
    ]);
    expect(waiting).toMatchObject({
      status: 'queued',
      node: null,
      started: null,
      not_before: '1970-01-01T00:00:00.000Z',
    });
  });
});

const QUEUE: Queue = {
  ...{ id: 'q1', name: 'resize', plugin: 'thumbnail', state: 'open', threads: 8, sort: 'fifo', nodes: null },
  ...{ ignore_nodes: null, weight: 1, key: null, rate: null, retry: { limit: 0, first: 10, longest: 3600 } },
  ...{
    orphan_retries: 0,
    timeout: null,
    output_limit: 1,
    keep: null,
    writers: [],
    readers: [],
    why: [],
    secrets: null,
  },
  ...{ created_at: '', updated_at: '', ended_last_minute: 7, oldest_waiting: null },
  counts: {
    ...{ held: 0, orphaned: 0, cancelled: 0, blocked: 0, terminated: 0 },
    ...{ queued: 0, claimed: 0, running: 0, succeeded: 0, failed: 0 },
  },
};

describe('a list of queues', () => {
  const changes = fc
    .array(
      fc.record({
        type: fc.constantFrom('queue.changed', 'queue.removed', 'task.running'),
        queue: fc.constantFrom('q1', 'q2', 'q3'),
        state: fc.constantFrom('open', 'paused', 'draining', 'melted'),
      }),
      { maxLength: 20 },
    )
    .map((steps) => steps.map(({ type, ...about }, index) => event(index + 1, type, { name: 'resize', ...about })));
  const queues = ['q1', 'q2'].map((id): Queue => ({ ...QUEUE, id }));

  it('is the same when it was read later than it is followed from', () => {
    fc.assert(
      fc.property(changes, fc.nat(), fc.nat(), (events, a, b) => {
        const [from = 0, read = 0] = [a % (events.length + 1), b % (events.length + 1)].sort((x, y) => x - y);
        const snapshot = applyToQueues(queues, events.slice(0, read)).state;
        expect(applyToQueues(snapshot, events.slice(from)).state).toEqual(applyToQueues(queues, events).state);
      }),
    );
  });

  it('stays the same object when nothing concerns it', () => {
    expect(applyToQueues(queues, [event(1, 'queue.changed', { queue: 'q9', state: 'paused' })]).state).toBe(queues);
  });

  it('tells a rate for as long as it is one', () => {
    expect([endedLastMinute(QUEUE, 59_000), endedLastMinute(QUEUE, 60_000)]).toEqual([7, 0]);
  });
});

describe('what is meant by all that match', () => {
  it.each([
    [[], '', ''],
    [['failed'], '', 'status:failed'],
    [['failed', 'held'], 'params.n > 3', "status IN ('failed', 'held') AND (params.n > 3)"],
    [[], ' node:web1 ', 'node:web1'],
  ])('%j and %j', (statuses, q, selector) => {
    expect(selectorOf(statuses, q)).toBe(selector);
  });

  it('is what the action can be done to, and of what succeeded only where it is said', () => {
    expect(whereFor('retry', [], '')).toBe("status IN ('failed', 'orphaned', 'cancelled', 'terminated')");
    expect(whereFor('retry', ['succeeded'], '')).toBe('status:succeeded');
    expect(whereFor('release', ['failed'], '')).toBeNull();
    expect(whereFor('cancel', ['running', 'failed'], 'n:1')).toBe('status:running AND (n:1)');
    expect(whereFor('retry', [], 'status:failed AND params.x > 3')).toBe('status:failed AND params.x > 3');
    expect(whereFor('hold', [], "reason = '")).toBe("status IN ('queued', 'blocked') AND (reason = ')");
  });
});

describe('acting on many tasks', () => {
  it('is counted by the counts of the queue, and says why there are none', () => {
    const none = { queued: 0, blocked: 0, held: 0, claimed: 0, running: 0, succeeded: 21 };
    const counts = { ...none, failed: 2, orphaned: 1, cancelled: 0, terminated: 0 };
    expect(countFor('retry', [], counts)).toBe(3);
    expect(countFor('retry', ['succeeded'], counts)).toBe(21);
    expect(countFor('cancel', [], counts)).toBe(0);
    expect(noneFor('hold')).toBe('None of these tasks can be held now: none is queued or blocked.');
    expect(noneFor('release')).toBe('None of these tasks can be released now: none is held.');
  });

  const answer = { matched: 3, acted: 2, refused: [{ reason: 'it is held', tasks: 1, first: 't1' }], next: null };

  it('adds up what the answers say', () => {
    const count = [
      { ...answer, sample: ['a', 'b', 'c'], last: 'c' },
      { ...answer, matched: 0, sample: [], last: null },
      { ...answer, matched: 9, sample: ['d', 'e', 'f'], last: 'z' },
    ].reduce(counted, NOTHING_COUNTED);
    const refused = [{ reason: 'it is held', tasks: 3, first: 't1' }];
    expect(count).toEqual({ matched: 12, sample: ['a', 'b', 'c', 'd', 'e'], last: 'z', refused });
    expect(changedSince(count.matched, 6)).toBe(6);
    expect(changedSince(null, 6)).toBe(0);
  });
});

describe('what the server does to many tasks', () => {
  const RUN: BulkRun = {
    ...{ id: 'b1', action: 'retry', queue_id: null, where: '', state: 'running', reason: null, by: 'alice' },
    ...{ counted: 100, matched: 0, acted: 0, refused: [], created_at: '2026-11-22T10:00:00.000Z', ended_at: null },
  };
  const told = (state: string, matched: number, bulk = 'b1') =>
    event(1, 'task.bulk', { bulk, state }, { matched, acted: matched - 1 });

  it('never goes back, whatever comes twice or late', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 100 }), { minLength: 1 }), (places) => {
        const { state, stale } = applyToBulk(
          [RUN],
          places.map((matched) => told('running', matched)),
        );
        const furthest = Math.max(...places);
        expect(state).toEqual([{ ...RUN, matched: furthest, acted: furthest - 1 }]);
        expect(stale).toBe(false);
        expect(applyToBulk(state, [told('running', furthest)]).state).toBe(state);
      }),
    );
  });

  it('is read again when one begins or is over, as only the server knows all of it', () => {
    expect(applyToBulk([RUN], [told('done', 100)]).stale).toBe(true);
    expect(applyToBulk([RUN], [told('running', 1, 'b2')])).toEqual({ state: [RUN], stale: true });
    const over: BulkRun = { ...RUN, state: 'done', matched: 90 };
    expect(applyToBulk([over], [told('running', 95)]).state).toEqual([over]);
  });
});

describe('limits of a queue', () => {
  const before = givenOf(QUEUE);

  it('are sent only where they were changed', () => {
    const given = { ...before, threads: '', rate: '100/60', retries: '3', nodes: 'role:web' };
    expect(changesOf(before, given)).toEqual({
      changes: { threads: null, rate: { tasks: 100, seconds: 60 }, retry: { limit: 3 }, nodes: 'role:web' },
      wrong: {},
    });
    expect(commandFor('resize', before, given)).toBe(
      'muster queue set resize --threads none --rate 100/60s --retries 3 --nodes role:web',
    );
    expect(changesOf(before, before)).toEqual({ changes: {}, wrong: {} });
  });

  it.each([
    ['threads', 'many'],
    ['weight', '0'],
    ['rate', '100'],
    ['retries', ''],
    ['timeout', '0'],
  ] as const)('say what is wrong with %s', (name, text) => {
    const { changes, wrong } = changesOf(before, { ...before, [name]: text });
    expect(changes).toEqual({});
    expect(wrong[name]).toBeDefined();
  });
});
