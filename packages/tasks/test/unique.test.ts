import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG } from './support/played-nodes.js';

describe('an idempotency key', () => {
  let fixture: Fixture;
  let queue: string;

  beforeEach(async () => {
    fixture = await openFixture();
    queue = await fixture.queue('q');
  });

  afterEach(() => fixture.close());

  const add = (keys: readonly (string | null)[], to = queue) =>
    fixture.controller.add(
      ORG,
      to,
      keys.map((key) => ({ params: {}, ...(key !== null && { options: { unique: { key, seconds: 60 } } }) })),
      BY,
    );
  const stored = async () => (await fixture.store.read.selectFrom('tasks').select('id').execute()).length;
  const waiting = () => fixture.controller.queue(ORG.id, queue)?.counts.queued;

  test('that is taken answers the first task, and adds none', async () => {
    const [first] = await add(['a']);
    expect(first).toMatchObject({ created: true });
    fixture.clock.advance(59_999);
    expect(await add(['a'])).toEqual([{ id: first?.id, created: false }]);
    expect([await stored(), waiting()]).toEqual([1, 1]);
  });

  test('is free again when its time is over, and is then taken anew', async () => {
    const [first] = await add(['a']);
    fixture.clock.advance(60_000);
    const [second] = await add(['a']);
    expect(second).toMatchObject({ created: true });
    expect(second?.id).not.toBe(first?.id);
    fixture.clock.advance(59_999);
    expect(await add(['a'])).toEqual([{ id: second?.id, created: false }]);
    expect([await stored(), waiting()]).toEqual([2, 2]);
  });

  test('is kept while its task has ended, and over a restart of the server', async () => {
    const [first] = await add(['a']);
    await fixture.act('cancel', first?.id ?? '');
    await fixture.controller.stop();
    await fixture.start();
    expect(await add(['a'])).toEqual([{ id: first?.id, created: false }]);
    expect(waiting()).toBe(0);
  });

  test('counts for one queue, and among tasks that are added together', async () => {
    const [one, again, other, none, more] = await add(['a', 'a', 'b', null, null]);
    expect(again).toEqual({ id: one?.id, created: false });
    for (const task of [one, other, none, more]) expect(task?.created).toBe(true);
    expect([await stored(), waiting()]).toEqual([4, 4]);
    const [elsewhere] = await add(['a'], await fixture.queue('other'));
    expect(elsewhere?.created).toBe(true);
  });
});
