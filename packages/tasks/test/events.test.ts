import { readOwnEvent } from '@muster/platform/log';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readSubject } from '../../platform/src/log/log-reads.js';
import { queueSubject } from '../src/events.js';
import { STATUS } from '../src/status.js';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG, type PlayedNode } from './support/played-nodes.js';

/**
 * What is told of queues and tasks. It is read of the store as soon as the change can be read there, and not waited for: both
 * are stored at once.
 */

let fixture: Fixture;
let node: PlayedNode;
let queue: string;
let read: number;

beforeEach(async () => {
  fixture = await openFixture();
  node = fixture.nodes.enter('n1');
  queue = await fixture.queue('q', { rules: { retry: { limit: 1, first: 60, longest: 60 } } });
  read = 0;
});
afterEach(() => fixture.close());

/** What was told in the queue since this was asked last. */
async function told() {
  const events = await readSubject(fixture.store.read, queueSubject(queue), read, 1000);
  read = events.at(-1)?.position ?? read;
  return events.map(({ event }) => {
    const { type, attributes, data } = readOwnEvent(event);
    const { 'content-type': _, ...about } = attributes;
    return { type, ...about, data };
  });
}

/** A task that the node has, and nothing of it is left to be told. */
async function claimed(): Promise<string> {
  node.offer(1, ['p']);
  const [id = ''] = await fixture.add(queue, 1);
  await fixture.stands(id, { status: STATUS.claimed });
  await expect.poll(() => node.tasks.has(id)).toBe(true);
  node.offer(0, ['p']);
  await told();
  return id;
}

const waiting = { status: 'queued', code: `${STATUS.queued}` };

describe('of a queue', () => {
  test('that it was created, with what it runs', async () => {
    const data = { plugin: 'p', threads: null };
    expect(await told()).toEqual([{ type: 'queue.created', queue, name: 'q', by: 'anna', data }]);
  });

  test('that it was changed, and what of it; and nothing when nothing was', async () => {
    await told();
    const change = (changes: object) => fixture.controller.changeQueue(ORG, queue, changes, BY);
    await change({ state: 'paused' });
    await change({ name: 'new', threads: 3, rules: { weight: 2 } });
    await change({ threads: 3 });
    const changed = { type: 'queue.changed', queue, by: 'anna', state: 'paused' };
    expect(await told()).toEqual([
      { ...changed, name: 'q', data: { changed: ['state'] } },
      { ...changed, name: 'new', data: { changed: ['name', 'threads', 'weight'] } },
    ]);
  });

  test('that it was deleted, before what becomes of its tasks', async () => {
    const id = await claimed();
    await fixture.controller.removeQueue(ORG, queue, { force: true, keepTasks: false }, BY);
    const reason = 'its queue was deleted by anna';
    expect(await told()).toEqual([
      { type: 'queue.removed', queue, name: 'q', by: 'anna', data: {} },
      { type: 'task.cancelling', queue, task: id, attempt: '1', data: { reason } },
    ]);
  });
});

describe('of a task', () => {
  test('that it was claimed, runs and ended, on which node', async () => {
    await told();
    node.offer(1, ['p']);
    const [id = ''] = await fixture.add(queue, 1);
    const where = { queue, task: id, node: 'n1', attempt: '1', data: {} };
    await fixture.stands(id, { status: STATUS.claimed });
    expect(await told()).toEqual([
      { type: 'task.added', queue, task: id, count: '1', by: 'anna', data: { last: id } },
      { type: 'task.claimed', ...where },
    ]);
    await expect.poll(() => node.tasks.has(id)).toBe(true);
    node.start(id);
    await fixture.stands(id, { status: STATUS.running });
    expect(await told()).toEqual([{ type: 'task.running', ...where }]);
    node.finish(id);
    await fixture.stands(id, { status: STATUS.succeeded });
    const ended = { queue, task: id, status: 'succeeded', code: '1', attempt: '1' };
    expect(await told()).toEqual([{ type: 'task.ended', ...ended, data: { node: 'n1', reason: null } }]);
  });

  test('that it waits to be run again, until when and why, and then that it is due', async () => {
    const id = await claimed();
    node.finish(id, { status: STATUS.failed, reason: 'exit status 3' });
    await fixture.stands(id, { status: STATUS.queued });
    const waits = { type: 'task.waiting', queue, task: id, ...waiting, attempt: '1' };
    const data = { reason: 'exit status 3', not_before: fixture.clock.now() + 60_000 };
    expect(await told()).toEqual([{ ...waits, data }]);
    fixture.clock.advance(60_000);
    await expect
      .poll(() => {
        fixture.clock.advance(1);
        return fixture.row(id);
      })
      .toMatchObject({ not_before: null });
    node.offer(1, ['p']);
    await fixture.stands(id, { status: STATUS.claimed, attempt: 2 });
    expect(await told()).toMatchObject([{ type: 'task.claimed', task: id, attempt: '2' }]);
  });

  test('that its node gave it back', async () => {
    const id = await claimed();
    node.news({ ...node.ref(id), event: 'returned', reason: 'the agent stops' });
    await fixture.stands(id, { status: STATUS.queued });
    const data = { reason: 'the agent stops', not_before: null };
    expect(await told()).toEqual([{ type: 'task.waiting', queue, task: id, ...waiting, attempt: '1', data }]);
  });

  test('that it is held, let go, cancelled and to run again, and by whom', async () => {
    const [id = ''] = await fixture.add(queue, 1);
    await told();
    for (const action of ['hold', 'release', 'cancel', 'retry'] as const) await fixture.act(action, id);
    const about = { queue, task: id, attempt: '0' };
    const again = { type: 'task.waiting', ...about, ...waiting, data: { reason: null, not_before: null } };
    expect(await told()).toEqual([
      {
        ...{ type: 'task.waiting', ...about, status: 'held', code: `${STATUS.held}` },
        data: { reason: 'held by anna', not_before: null },
      },
      again,
      {
        ...{ type: 'task.ended', ...about, status: 'cancelled', code: `${STATUS.cancelled}` },
        data: { node: null, reason: 'cancelled by anna' },
      },
      again,
    ]);
  });

  test('that one which a node has is to end, once, and how it ended', async () => {
    const id = await claimed();
    const ref = node.ref(id);
    await fixture.act('cancel', id);
    await fixture.act('cancel', id);
    const about = { queue, task: id, attempt: '1' };
    const reason = 'cancelled by anna';
    expect(await told()).toEqual([{ type: 'task.cancelling', ...about, data: { reason } }]);
    node.news({ ...ref, event: 'cancelled', forced: true, bytes: null, durationMs: 1 });
    await fixture.stands(id, { status: STATUS.terminated });
    const code = `${STATUS.terminated}`;
    expect(await told()).toEqual([
      { type: 'task.ended', ...about, status: 'terminated', code, data: { node: 'n1', reason } },
    ]);
  });

  test('that those which were deleted together are gone, of each queue', async () => {
    const ids = await fixture.add(queue, 3);
    const [other = ''] = await fixture.add(await fixture.queue('other'), 1);
    await told();
    await fixture.act('remove', ids[0] ?? '', other, ids[1] ?? '');
    expect(await told()).toEqual([{ type: 'task.removed', queue, task: ids[0], count: '2', data: {} }]);
  });

  test('nothing that was refused, or changed nothing', async () => {
    const [id = ''] = await fixture.add(queue, 1);
    await told();
    await fixture.act('retry', id);
    await fixture.act('release', id);
    expect(await told()).toEqual([]);
  });
});
