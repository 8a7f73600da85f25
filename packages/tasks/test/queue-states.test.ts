import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STATUS } from '../src/status.js';
import type { QueueState } from '../src/types.js';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG, type PlayedNode } from './support/played-nodes.js';

let fixture: Fixture;
let node: PlayedNode;
let queue: string;
let ids: string[];

beforeEach(async () => {
  fixture = await openFixture();
  node = fixture.nodes.enter('n1');
  queue = await fixture.queue('q', { rules: { retry: { limit: 1, first: 60, longest: 60 } } });
  ids = await fixture.add(queue, 4);
  node.offer(2, ['p']);
  await expect.poll(() => node.given.length).toBe(2);
  node.start(ids[0] ?? '');
  await fixture.stands(ids[0] ?? '', { status: STATUS.running });
});

afterEach(() => fixture.close());

const become = (state: QueueState) => fixture.controller.changeQueue(ORG, queue, { state }, BY);
const counts = () => fixture.controller.queue(ORG.id, queue)?.counts;

/** The server, a minute later. */
async function restart(): Promise<void> {
  await fixture.controller.stop();
  fixture.clock.advance(60_000);
  await fixture.start();
  node.offer(9, ['p']);
  node.inventory();
}

/** What it is as time goes on. */
function later<T>(what: () => T): () => T {
  return () => {
    fixture.clock.advance(1);
    return what();
  };
}

/** The node ends what it was given, one after the other, while there is something. */
async function workOff(some: readonly string[]): Promise<void> {
  for (const id of some) {
    await expect.poll(() => node.tasks.has(id)).toBe(true);
    node.finish(id);
    await fixture.stands(id, { status: STATUS.succeeded });
  }
}

describe('a queue that is paused', () => {
  test('lets the tasks that nodes have go on to their end, and gives nothing new', async () => {
    await become('paused');
    const [added = ''] = await fixture.add(queue, 1);
    node.start(ids[1] ?? '');
    await fixture.stands(ids[1] ?? '', { status: STATUS.running });
    await workOff(ids.slice(0, 2));
    expect(counts()).toMatchObject({ succeeded: 2, queued: 3, claimed: 0, running: 0 });
    expect([node.cancels, node.recalls, node.given.length]).toEqual([[], [], 2]);
    // Others get what it leaves free.
    const [other = ''] = await fixture.add(await fixture.queue('other'), 1);
    await expect.poll(() => node.given.at(-1)).toEqual({ id: other, attempt: 1 });
    await become('open');
    await workOff([other, ...ids.slice(2), added]);
    expect(counts()).toMatchObject({ succeeded: 5, queued: 0 });
  });

  test('gives nothing after a restart of the server, nor what is to be run again', async () => {
    await become('paused');
    node.finish(ids[0] ?? '', { status: STATUS.failed });
    await fixture.stands(ids[0] ?? '', { status: STATUS.queued, failures: 1 });
    await restart();
    await expect
      .poll(later(() => fixture.row(ids[0] ?? '')))
      .toMatchObject({ status: STATUS.queued, not_before: null });
    expect(counts()).toMatchObject({ queued: 3, running: 0, claimed: 1 });
    await become('open');
    await expect.poll(() => node.given.length).toBe(5);
  });
});

describe('a queue that is draining', () => {
  test('works off what it has, and takes nothing new', async () => {
    await become('draining');
    await expect(fixture.add(queue, 1)).rejects.toMatchObject({ code: 'queue_draining', status: 409 });
    await workOff(ids);
    expect(counts()).toMatchObject({ succeeded: 4, queued: 0 });
    await expect(fixture.add(queue, 1)).rejects.toMatchObject({ code: 'queue_draining' });
    expect(await fixture.store.read.selectFrom('tasks').select('id').execute()).toHaveLength(4);
  });

  test('runs again what fails in it, after a restart of the server too', async () => {
    await become('draining');
    node.finish(ids[0] ?? '', { status: STATUS.failed });
    await fixture.stands(ids[0] ?? '', { status: STATUS.queued, failures: 1 });
    await restart();
    await expect.poll(later(() => node.given)).toContainEqual({ id: ids[0], attempt: 2 });
    await expect(fixture.add(queue, 1)).rejects.toMatchObject({ code: 'queue_draining' });
  });

  test('takes new ones again once it is open', async () => {
    await become('draining');
    await become('open');
    const [id = ''] = await fixture.add(queue, 1);
    await workOff([...ids, id]);
  });
});
