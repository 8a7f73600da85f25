import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STATUS } from '../src/status.js';
import { type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG } from './support/played-nodes.js';

describe('a task that expires', () => {
  const MINUTE = 60_000;
  const EXPIRED = { status: STATUS.cancelled, reason: 'it had not begun in time' };
  let fixture: Fixture;
  let expiresAt: number;

  beforeEach(async () => {
    fixture = await openFixture();
    expiresAt = fixture.clock.now() + MINUTE;
  });

  afterEach(() => fixture.close());

  const counts = (queue: string) => fixture.controller.queue(ORG.id, queue)?.counts;

  test('is cancelled at its time while it waits, and not before', async () => {
    const queue = await fixture.queue('q');
    const [id = '', waits = ''] = await fixture.add(queue, [{ params: {}, options: { expiresAt } }, { params: {} }]);
    fixture.clock.advance(MINUTE - 1);
    const [later = ''] = await fixture.add(queue, [{ params: {}, options: { expiresAt: expiresAt + 1 } }]);
    fixture.clock.advance(1);
    await fixture.stands(id, { ...EXPIRED, ended_at: expiresAt, mtime: expiresAt });
    expect(await fixture.row(later)).toMatchObject({ status: STATUS.queued });
    fixture.clock.advance(1);
    await fixture.stands(later, { ...EXPIRED, ended_at: expiresAt + 1 });
    expect(counts(queue)).toMatchObject({ cancelled: 2, queued: 1 });
    const node = fixture.nodes.enter('n1');
    node.offer(3, ['p']);
    await expect.poll(() => node.given).toEqual([{ id: waits, attempt: 1 }]);
  });

  test('is cancelled while it waits for others, or for a later time', async () => {
    const queue = await fixture.queue('q');
    const [first = ''] = await fixture.add(queue, 1);
    const [blocked = '', early = ''] = await fixture.add(queue, [
      { params: {}, options: { expiresAt, after: [first] } },
      { params: {}, options: { expiresAt, notBefore: expiresAt + MINUTE } },
    ]);
    await fixture.stands(blocked, { status: STATUS.blocked });
    fixture.clock.advance(MINUTE);
    await fixture.stands(blocked, EXPIRED);
    await fixture.stands(early, EXPIRED);
    expect(await fixture.row(first)).toMatchObject({ status: STATUS.queued });
  });

  test('goes on when a node has it by then', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(2, ['p']);
    const queue = await fixture.queue('q');
    const options = { expiresAt };
    const [running = '', claimed = '', waits = ''] = await fixture.add(
      queue,
      Array.from({ length: 3 }, () => ({ params: {}, options })),
    );
    await expect.poll(() => node.given.length).toBe(2);
    node.start(running);
    await fixture.stands(running, { status: STATUS.running });
    fixture.clock.advance(MINUTE);
    await fixture.stands(waits, EXPIRED);
    expect(await fixture.row(running)).toMatchObject({ status: STATUS.running, cancelling: 0 });
    expect(await fixture.row(claimed)).toMatchObject({ status: STATUS.claimed, cancelling: 0 });
    expect(node.cancels).toEqual([]);
    for (const id of [running, claimed]) {
      node.finish(id);
      await fixture.stands(id, { status: STATUS.succeeded });
    }
  });

  test('is cancelled when it comes back after its time, before any node gets it', async () => {
    const node = fixture.nodes.enter('n1');
    const [queue, other] = [await fixture.queue('q'), await fixture.queue('other', { plugin: 'other' })];
    const options = { expiresAt };
    const [held = ''] = await fixture.add(other, [{ params: {}, options }]);
    expect(await fixture.act('hold', held)).toEqual([{ id: held, refused: null }]);
    node.offer(2, ['p', 'other']);
    const [back = ''] = await fixture.add(queue, [{ params: {}, options }]);
    await expect.poll(() => node.given.length).toBe(1);
    fixture.clock.advance(2 * MINUTE);
    node.news({ ...node.ref(back), event: 'returned', reason: 'no room' });
    node.tasks.delete(back);
    await expect
      .poll(() => {
        fixture.clock.advance(1);
        return fixture.row(back);
      })
      .toMatchObject(EXPIRED);
    await fixture.act('release', held);
    await expect
      .poll(() => {
        fixture.clock.advance(1);
        return fixture.row(held);
      })
      .toMatchObject(EXPIRED);
    expect(node.given.length).toBe(1);
  });

  test('is not run again after its time, neither by itself nor by a person', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q', { rules: { retry: { limit: 1, first: 120, longest: 120 } } });
    const [id = ''] = await fixture.add(queue, [{ params: {}, options: { expiresAt } }]);
    await expect.poll(() => node.given.length).toBe(1);
    node.start(id);
    node.finish(id, { status: STATUS.failed });
    await fixture.stands(id, { status: STATUS.queued, failures: 1 });
    fixture.clock.advance(MINUTE);
    await fixture.stands(id, { ...EXPIRED, reason: 'it was too late to run it again' });
    const refused = `it was to begin by ${new Date(expiresAt).toISOString()}; add it again`;
    expect(await fixture.act('retry', id)).toEqual([{ id, refused }]);
    expect(await fixture.row(id)).toMatchObject({ status: STATUS.cancelled });
  });

  test('is cancelled by the next server when its time passed while there was none', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q');
    const [running = '', waits = ''] = await fixture.add(
      queue,
      Array.from({ length: 2 }, () => ({ params: {}, options: { expiresAt } })),
    );
    const [later = ''] = await fixture.add(queue, [{ params: {}, options: { expiresAt: expiresAt + 2 * MINUTE } }]);
    await expect.poll(() => node.given.length).toBe(1);
    node.start(running);
    await fixture.stands(running, { status: STATUS.running });
    await fixture.controller.stop();
    fixture.clock.advance(2 * MINUTE);
    await fixture.start();
    // As soon as it has read what waits for a time.
    await expect
      .poll(async () => {
        fixture.clock.advance(1);
        return fixture.row(waits);
      })
      .toMatchObject(EXPIRED);
    expect(await fixture.row(running)).toMatchObject({ status: STATUS.running });
    expect(counts(queue)).toMatchObject({ running: 1, queued: 1, cancelled: 1 });
    fixture.clock.advance(MINUTE);
    await fixture.stands(later, EXPIRED);
  });

  test('is given to nobody after its time, also when nodes get room at that moment', async () => {
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, [{ params: {}, options: { expiresAt } }]);
    fixture.clock.advance(MINUTE);
    await fixture.stands(id, EXPIRED);
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const [next = ''] = await fixture.add(queue, 1);
    await expect.poll(() => node.given).toEqual([{ id: next, attempt: 1 }]);
  });
});
