import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STATUS } from '../src/status.js';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG, type PlayedNode } from './support/played-nodes.js';

/** What a task says for itself in the place of its queue. */

let fixture: Fixture;
let node: PlayedNode;

beforeEach(async () => {
  fixture = await openFixture();
  node = fixture.nodes.enter('n1');
});
afterEach(() => fixture.close());

describe('the time limit of a run', () => {
  const limits = (ids: readonly string[]) => ids.map((id) => node.tasks.get(id)?.timeoutSeconds);

  test('is that of its queue, unless the task has its own', async () => {
    const queue = await fixture.queue('q', { rules: { timeout: 600 } });
    const ids = await fixture.add(queue, [{ params: {} }, { params: {}, options: { timeout: 5 } }]);
    const free = await fixture.queue('free');
    ids.push(...(await fixture.add(free, [{ params: {} }, { params: {}, options: { timeout: 7 } }])));
    node.offer(4, ['p']);
    await expect.poll(() => node.given.length).toBe(4);
    expect(limits(ids)).toEqual([600, 5, null, 7]);
  });

  test('is the same when the task was read of the store, and after its queue was changed that of the queue', async () => {
    const queue = await fixture.queue('q', { rules: { timeout: 600 } });
    const ids = await fixture.add(queue, [{ params: {} }, { params: {}, options: { timeout: 5 } }]);
    await fixture.controller.stop();
    await fixture.start();
    await fixture.controller.changeQueue(ORG, queue, { rules: { timeout: 60 } }, BY);
    node.offer(4, ['p']);
    await expect.poll(() => node.given.length).toBe(2);
    expect(limits(ids)).toEqual([60, 5]);
  });
});

describe('how often a task is run again', () => {
  /** Fails it until it has. Answers how often it ran. */
  async function runs(id: string): Promise<number> {
    for (let attempt = 1; ; attempt++) {
      await expect.poll(() => node.given.at(-1)).toEqual({ id, attempt });
      node.finish(id, { status: STATUS.failed, durationMs: 5000 });
      await expect.poll(async () => (await fixture.row(id)).failures).toBe(attempt);
      if ((await fixture.row(id)).status === STATUS.failed) return attempt;
      fixture.clock.advance(1000);
    }
  }

  test.each([
    ['as its queue says', 2, undefined, 3],
    ['more often than its queue says', 0, 3, 4],
    ['less often than its queue says', 5, 1, 2],
    ['never, whatever its queue says', 5, 0, 1],
  ])('%s', async (_, limit, retries, times) => {
    const queue = await fixture.queue('q', { rules: { retry: { limit, first: 1, longest: 1 } } });
    node.offer(1, ['p']);
    const [id = ''] = await fixture.add(queue, [
      { params: {}, ...(retries !== undefined && { options: { retries } }) },
    ]);
    expect(await runs(id)).toBe(times);
  });

  test('is as it was told when the server was started again', async () => {
    const queue = await fixture.queue('q', { rules: { retry: { limit: 5, first: 1, longest: 1 } } });
    const [id = ''] = await fixture.add(queue, [{ params: {}, options: { retries: 1 } }]);
    await fixture.controller.stop();
    await fixture.start();
    node.offer(1, ['p']);
    expect(await runs(id)).toBe(2);
  });
});

describe('mtime', () => {
  const SECOND = 1000;

  test('moves when a task is claimed, when it starts and when it ends, and ctime does not', async () => {
    const queue = await fixture.queue('q');
    const ctime = fixture.clock.now();
    const [id = ''] = await fixture.add(queue, 1);
    expect(await fixture.row(id)).toMatchObject({ ctime, mtime: ctime });
    fixture.clock.advance(SECOND);
    node.offer(1, ['p']);
    await fixture.stands(id, { status: STATUS.claimed, mtime: ctime + SECOND });
    await expect.poll(() => node.tasks.get(id)).toMatchObject({ ctime, mtime: ctime + SECOND });
    fixture.clock.advance(SECOND);
    node.start(id);
    await fixture.stands(id, { status: STATUS.running, mtime: ctime + 2 * SECOND });
    fixture.clock.advance(SECOND);
    node.finish(id);
    await fixture.stands(id, { status: STATUS.succeeded, ctime, mtime: ctime + 3 * SECOND });
  });

  test('moves when a run fails, and when the task is held, released, cancelled and retried', async () => {
    const queue = await fixture.queue('q', { rules: { retry: { limit: 1, first: 60, longest: 60 } } });
    const [id = ''] = await fixture.add(queue, 1);
    node.offer(1, ['p']);
    await expect.poll(() => node.given.length).toBe(1);
    node.offer(0, ['p']);
    fixture.clock.advance(SECOND);
    node.finish(id, { status: STATUS.failed });
    await fixture.stands(id, { status: STATUS.queued, mtime: fixture.clock.now() });
    for (const action of ['hold', 'release', 'cancel', 'retry'] as const) {
      fixture.clock.advance(SECOND);
      await fixture.act(action, id);
      expect(await fixture.row(id)).toMatchObject({ mtime: fixture.clock.now() });
    }
  });

  test('stays while a task that runs is only asked to end', async () => {
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    node.offer(1, ['p']);
    await expect.poll(() => node.given.length).toBe(1);
    const { mtime } = await fixture.row(id);
    fixture.clock.advance(SECOND);
    await fixture.act('cancel', id);
    expect(await fixture.row(id)).toMatchObject({ cancelling: 1, mtime });
  });
});
