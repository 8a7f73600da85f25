import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STATUS } from '../src/status.js';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG, type PlayedNode } from './support/played-nodes.js';

/** `maxthreads` of a node: at most so many tasks that it has, whatever it offers. */

describe('maxthreads of a node', () => {
  let fixture: Fixture;
  let node: PlayedNode;
  let queue: string;

  beforeEach(async () => {
    fixture = await openFixture();
    node = fixture.nodes.enter('n1');
    queue = await fixture.queue('q');
  });

  afterEach(() => fixture.close());

  const set = (maxthreads: number | null, name = 'n1') => fixture.controller.setNode(ORG, name, { maxthreads }, BY);
  const counts = () => fixture.controller.queue(ORG.id, queue)?.counts;
  const given = () => node.given.length;

  test('of 0 gives it nothing, and others what waits', async () => {
    node.offer(5, ['p']);
    await set(0);
    await fixture.add(queue, 3);
    expect(counts()).toMatchObject({ queued: 3, claimed: 0 });
    const other = fixture.nodes.enter('n2');
    other.offer(5, ['p']);
    await expect.poll(() => other.given.length).toBe(3);
    expect(node.given).toEqual([]);
  });

  test('is changed when it is another, of a node that there is', async () => {
    node.offer(5, ['p']);
    expect([await set(2), await set(2), await set(null), await set(null), await set(2, 'n9')]).toEqual([
      ...[true, false],
      ...[true, false],
      false,
    ]);
  });

  test('of 2 is never passed by what is claimed and what runs', async () => {
    node.offer(5, ['p']);
    await set(2);
    const ids = await fixture.add(queue, 6);
    for (const [done, id] of ids.entries()) {
      await expect.poll(given).toBe(Math.min(done + 2, 6));
      node.start(id);
      await fixture.stands(id, { status: STATUS.running });
      expect(counts()).toMatchObject({ running: 1, claimed: done === 5 ? 0 : 1 });
      node.finish(id, { durationMs: 1 });
    }
    await fixture.stands(ids.at(-1) ?? '', { status: STATUS.succeeded });
  });

  test('that is lowered takes nothing back, and gives nothing until fewer are left', async () => {
    node.offer(3, ['p']);
    const [one = '', two = '', three = '', four = ''] = await fixture.add(queue, 4);
    await expect.poll(given).toBe(3);
    await set(1);
    for (const id of [one, two]) {
      node.finish(id);
      await fixture.stands(id, { status: STATUS.succeeded });
    }
    expect(counts()).toMatchObject({ claimed: 1, queued: 1 });
    expect(node.recalls).toEqual([]);
    node.finish(three);
    await expect.poll(() => node.given.at(-1)?.id).toBe(four);
  });

  test('that is lifted lets it have as many as it offers, at once', async () => {
    node.offer(5, ['p']);
    await set(1);
    await fixture.add(queue, 6);
    await expect.poll(given).toBe(1);
    await set(null);
    await expect.poll(given).toBe(5);
    expect(counts()).toMatchObject({ claimed: 5, queued: 1 });
  });

  test.each([
    [2, 5],
    [5, 2],
  ])('of %i, and a node that offers %i: the lesser counts', async (maxthreads, max) => {
    node.offer(max, ['p']);
    await set(maxthreads);
    await fixture.add(queue, 6);
    await expect.poll(given).toBe(2);
    expect(counts()).toMatchObject({ claimed: 2, queued: 4 });
  });

  test('is known after the server was started again, also while the node says nothing of it', async () => {
    node.offer(5, ['p']);
    await set(2);
    const [known] = fixture.controller.nodes(ORG.id);
    await fixture.controller.stop();
    await fixture.start();
    expect(fixture.controller.nodes(ORG.id)).toMatchObject([{ id: known?.id, node: 'n1', maxthreads: 2, max: null }]);
    node.offer(5, ['p']);
    await fixture.add(queue, 6);
    await expect.poll(given).toBe(2);
    expect(counts()).toMatchObject({ claimed: 2, queued: 4 });
  });

  test('is set by name or by id, of nodes that take tasks', async () => {
    fixture.nodes.enter('n2');
    node.offer(5, ['p']);
    const [{ id = '' } = {}] = fixture.controller.nodes(ORG.id);
    expect(await set(3, id)).toBe(true);
    expect(fixture.controller.nodes(ORG.id)).toMatchObject([{ node: 'n1', maxthreads: 3, max: 5 }]);
    expect([await set(3, 'n2'), await set(3, 'nobody')]).toEqual([false, false]);
  });
});
