import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { STATUS } from '../src/status.js';
import { type Fixture, openFixture } from './support/controller-fixture.js';
import { SUCCEEDED } from './support/played-nodes.js';

describe('queues and tasks', () => {
  let fixture: Fixture;

  beforeEach(async () => {
    fixture = await openFixture();
  });

  afterEach(() => fixture.close());

  test('a task goes from queued to claimed, running and succeeded', async () => {
    const node = fixture.nodes.enter('n1');
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    expect(await fixture.row(id)).toMatchObject({ status: STATUS.queued, node: null, attempt: 0 });
    node.offer(1, ['p']);
    await expect.poll(() => node.given).toEqual([{ id, attempt: 1 }]);
    expect(node.tasks.get(id)).toMatchObject({ plugin: 'p', params: { n: 0 }, queue: { name: 'q' } });
    expect(await fixture.row(id)).toMatchObject({ status: STATUS.claimed, node: 'n1', attempt: 1 });
    node.start(id);
    await fixture.stands(id, { status: STATUS.running });
    node.finish(id, { stdout: 'hello' });
    await fixture.stands(id, { status: STATUS.succeeded, node: 'n1', stdout: 'hello', complete: 1, exit_code: 0 });
    await expect.poll(() => node.settled).toEqual([{ id, attempt: 1 }]);
    expect(fixture.controller.queue('c'.repeat(32), 'q')?.counts).toMatchObject({
      succeeded: 1,
      queued: 0,
      running: 0,
    });
  });

  test('one that wrote more than is kept says so, beside its own reason', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(2, ['p']);
    const queue = await fixture.queue('q', { rules: { outputLimit: 1024 } });
    const [whole = '', much = '', failed = ''] = await fixture.add(queue, 3);
    const ends = async (id: string, result: Partial<typeof SUCCEEDED>): Promise<void> => {
      await expect.poll(() => node.tasks.has(id)).toBe(true);
      node.finish(id, result);
    };
    await ends(whole, { bytes: { stdout: 1024, stderr: 0 } });
    await ends(much, { bytes: { stdout: 1025, stderr: 2048 } });
    await ends(failed, { status: 2, exitCode: 2, reason: 'exit status 2', bytes: { stdout: 0, stderr: 4096 } });
    await fixture.stands(whole, { status: STATUS.succeeded, reason: null });
    const told = 'output limit reached: kept 1KiB of 1025B of stdout, 1KiB of 2KiB of stderr';
    await fixture.stands(much, { status: STATUS.succeeded, reason: told });
    const reason = 'exit status 2; output limit reached: kept 1KiB of 4KiB of stderr';
    await fixture.stands(failed, { status: STATUS.failed, reason });
  });

  test('what one commit stores for a node leaves in one message', async () => {
    const node = fixture.nodes.enter('n1');
    const queue = await fixture.queue('q');
    const ids = await fixture.add(queue, 4);
    node.offer(4, ['p']);
    await expect.poll(() => node.given).toHaveLength(4);
    const { messages } = node;
    for (const id of ids) node.finish(id);
    await expect.poll(() => node.settled.map(({ id }) => id)).toEqual(ids);
    expect(node.messages).toBe(messages + 1);
  });

  test('never more than its threads run, on all nodes together', async () => {
    const nodes = ['n1', 'n2', 'n3'].map((name) => fixture.nodes.enter(name));
    for (const node of nodes) node.offer(4, ['p']);
    const queue = await fixture.queue('q', { threads: 2 });
    const ids = await fixture.add(queue, 5);
    const given = () => nodes.flatMap((node) => node.given);
    await expect.poll(given).toHaveLength(2);
    const busy = nodes.find((node) => node.tasks.has(ids[0] ?? ''));
    busy?.finish(ids[0] ?? '');
    await expect.poll(given).toHaveLength(3);
    expect(fixture.controller.queue('c'.repeat(32), queue)?.counts).toMatchObject({
      claimed: 2,
      queued: 2,
      succeeded: 1,
    });
  });

  test('never more than a node offers, the others get the rest', async () => {
    const one = fixture.nodes.enter('n1');
    const other = fixture.nodes.enter('n2');
    one.offer(2, ['p']);
    const queue = await fixture.queue('q');
    await fixture.add(queue, 5);
    await expect.poll(() => one.given.length).toBe(2);
    other.offer(9, ['p']);
    await expect.poll(() => other.given.length).toBe(3);
    expect(one.given).toHaveLength(2);
  });

  test.each([
    ['fifo', [0, 1, 2, 3]],
    ['lifo', [3, 2, 1, 0]],
    ['default', [0, 1, 2, 3]],
  ] as const)('a queue that is %s', async (sort, order) => {
    const queue = await fixture.queue('q', { rules: { sort } });
    const ids = await fixture.add(queue, 4);
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    for (const [done, n] of order.entries()) {
      // A node that is fast is given more than it runs, in the same order.
      await expect.poll(() => node.given[done]?.id).toBe(ids[n]);
      node.finish(ids[n] ?? '');
    }
  });

  test('of greater priority first, and in their order among equals', async () => {
    const queue = await fixture.queue('q');
    const [low, high, normal, alsoHigh] = await fixture.add(queue, [
      { params: {}, options: { priority: -1 } },
      { params: {}, options: { priority: 5 } },
      { params: {} },
      { params: {}, options: { priority: 5 } },
    ]);
    const node = fixture.nodes.enter('n1');
    node.offer(4, ['p']);
    await expect.poll(() => node.given.map(({ id }) => id)).toEqual([high, alsoHigh, normal, low]);
  });

  test('what fails is run again after a wait that doubles, and at last has failed', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q', { rules: { retry: { limit: 2, first: 10, longest: 15 } } });
    const [id = ''] = await fixture.add(queue, 1);
    // Whoever looks for times may do so only after they have passed, and looks again a moment later.
    const given = async (times: number): Promise<void> => {
      await expect
        .poll(() => {
          fixture.clock.advance(1_000);
          return node.given.length;
        })
        .toBe(times);
    };
    for (const [attempt, wait] of [
      [1, 10_000],
      [2, 15_000],
    ] as const) {
      await given(attempt);
      node.finish(id, { status: 4, reason: 'exit status 3', exitCode: 3, durationMs: 200 });
      await fixture.stands(id, { status: STATUS.queued, not_before: fixture.clock.now() + wait, failures: attempt });
      fixture.clock.advance(wait);
    }
    await given(3);
    node.finish(id, { status: 2, reason: 'exit status 3', exitCode: 3 });
    await fixture.stands(id, { status: STATUS.failed, reason: 'exit status 3', failures: 3, exit_code: 3 });
    const past = await fixture.store.read.selectFrom('task_attempts').selectAll().orderBy('attempt').execute();
    expect(past).toMatchObject([
      { attempt: 1, node: 'n1', status: 4, exit_code: 3 },
      { attempt: 2, node: 'n1', status: 4, exit_code: 3 },
    ]);
    // Nobody told its start: it began as long ago as it ran.
    for (const { started_at, ended_at } of past) expect(ended_at).toBe((started_at ?? 0) + 200);
  });

  test('what somebody runs again keeps the run with which it had ended, however that was, and its output', async () => {
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    // Cancelled before it has begun: of that there is nothing to keep.
    await fixture.act('cancel', id);
    await fixture.act('retry', id);
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    await expect.poll(() => node.given.length).toBe(1);
    node.finish(id, { status: 2, reason: 'exit status 3', exitCode: 3, durationMs: 200, stdout: 'no' });
    await fixture.stands(id, { status: STATUS.failed, attempt: 1 });
    const first = await fixture.row(id);
    await fixture.act('retry', id);
    await expect.poll(() => node.given.length).toBe(2);
    node.finish(id, SUCCEEDED);
    await fixture.stands(id, { status: STATUS.succeeded, attempt: 2 });
    const second = await fixture.row(id);
    await fixture.act('retry', id);
    await expect.poll(() => node.given.length).toBe(3);
    const past = await fixture.store.read.selectFrom('task_attempts').selectAll().orderBy('attempt').execute();
    expect(past).toMatchObject([
      { attempt: 1, stdout: 'no', exit_code: 3 },
      { attempt: 2, node: 'n1', exit_code: 0 },
    ]);
    for (const [n, { task_id: _, ...run }] of past.entries()) expect([first, second][n]).toMatchObject(run);
  });

  test('what an old attempt reports changes nothing, and the node may forget it', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q', { rules: { orphanRetries: 1 } });
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => node.given.length).toBe(1);
    node.start(id);
    node.down();
    await fixture.stands(id, { status: STATUS.queued, attempt: 1, orphanings: 1 });
    node.up();
    await expect.poll(() => node.given.length).toBe(1);
    node.tasks.clear();
    await fixture.stands(id, { status: STATUS.claimed, attempt: 2 });
    node.news({ id, attempt: 1, event: 'finished', result: SUCCEEDED });
    await expect.poll(() => node.settled).toContainEqual({ id, attempt: 1 });
    expect(await fixture.row(id)).toMatchObject({ status: STATUS.claimed, attempt: 2 });
  });

  test('tasks of a node that is down are orphaned at once', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(2, ['p']);
    const queue = await fixture.queue('q');
    const [running = '', claimed = ''] = await fixture.add(queue, 2);
    await expect.poll(() => node.given.length).toBe(2);
    node.start(running);
    node.down();
    await fixture.stands(running, { status: STATUS.orphaned, reason: 'n1 is down: no heartbeat for 3 intervals' });
    await fixture.stands(claimed, { status: STATUS.orphaned });
  });

  test('a task that waits for others runs when all of them succeeded', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(9, ['p']);
    const queue = await fixture.queue('q');
    const [a = '', b = ''] = await fixture.add(queue, 2);
    const [last = ''] = await fixture.add(queue, [{ params: {}, options: { after: [a, b] } }]);
    await fixture.stands(last, { status: STATUS.blocked, waits_for: 2 });
    node.finish(a);
    await fixture.stands(last, { status: STATUS.blocked, waits_for: 1 });
    node.finish(b, { status: 2 });
    await fixture.stands(b, { status: STATUS.failed });
    expect(node.given).toHaveLength(2);
    await fixture.act('retry', b);
    await expect.poll(() => node.given.length).toBe(3);
    node.finish(b);
    await expect.poll(() => node.given.at(-1)).toEqual({ id: last, attempt: 1 });
  });

  test('people cancel, hold, release, retry and remove', async () => {
    const node = fixture.nodes.enter('n1');
    const queue = await fixture.queue('q');
    const [a = '', b = '', c = ''] = await fixture.add(queue, 3);
    expect(await fixture.act('hold', a)).toEqual([{ id: a, refused: null }]);
    await fixture.act('cancel', b);
    await fixture.stands(b, { status: STATUS.cancelled, reason: 'cancelled by anna' });
    node.offer(1, ['p']);
    await expect.poll(() => node.given).toEqual([{ id: c, attempt: 1 }]);
    node.start(c);
    await fixture.act('cancel', c);
    await fixture.stands(c, { status: STATUS.running, cancelling: 1 });
    await expect.poll(() => node.cancels).toEqual([{ id: c, attempt: 1 }]);
    expect(await fixture.act('remove', c)).toEqual([{ id: c, refused: 'a node has it; cancel it first' }]);
    node.tasks.delete(c);
    node.news({ id: c, attempt: 1, event: 'cancelled', forced: true, bytes: null, durationMs: 9 });
    await fixture.stands(c, { status: STATUS.terminated });
    await fixture.act('release', a);
    await expect.poll(() => node.given.at(-1)).toEqual({ id: a, attempt: 1 });
    node.finish(a);
    await fixture.stands(a, { status: STATUS.succeeded });
    expect(await fixture.act('remove', a, b, c)).toEqual([a, b, c].map((id) => ({ id, refused: null })));
    expect(await fixture.store.read.selectFrom('tasks').select('id').execute()).toEqual([]);
    expect(await fixture.act('retry', a)).toEqual([{ id: a, refused: 'it does not exist' }]);
  });

  test('one that is deleted and retried at the same moment either goes or runs again', async () => {
    const node = fixture.nodes.enter('n1');
    const queue = await fixture.queue('q');
    for (let round = 0; round < 10; round++) {
      const [id = ''] = await fixture.add(queue, 1);
      await fixture.act('cancel', id);
      const removing = fixture.act('remove', id);
      const [[removed], [retried]] = await Promise.all([removing, fixture.act('retry', id)]);
      const row = await fixture.store.read.selectFrom('tasks').select('id').where('id', '=', id).executeTakeFirst();
      const gone = removed?.refused === null;
      // Both, where it was retried before it was deleted.
      expect(gone || retried?.refused === null).toBe(true);
      expect(row === undefined).toBe(gone);
      if (!gone) await fixture.act('remove', id);
      expect(fixture.controller.queue('c'.repeat(32), 'q')?.counts).toMatchObject({ cancelled: 0, queued: 0 });
    }
    node.offer(1, ['p']);
    expect(node.given).toEqual([]);
  });

  test('one is acted on while others are read all the time', async () => {
    const queue = await fixture.queue('q');
    const missing = 'f'.repeat(24);
    let over = false;
    let ended = 0;
    const read = async (): Promise<void> => {
      for (let n = 0; n < 3000 && !over; n++) {
        await fixture.act('hold', missing);
        // SQLite answers at once, and would let nothing else come up.
        await new Promise((resolve) => setImmediate(resolve));
      }
      ended += 1;
    };
    const reads = Array.from({ length: 8 }, read);
    const [id = ''] = await fixture.add(queue, 1);
    for (let round = 0; round < 10; round++) {
      for (const action of ['cancel', 'retry'] as const) {
        expect((await fixture.act(action, id))[0]?.refused).toBeNull();
      }
    }
    expect(ended).toBe(0);
    over = true;
    await Promise.all(reads);
  });

  test('a server that is started again goes on with what nodes have and what waits', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q');
    const [a = '', b = ''] = await fixture.add(queue, 2);
    await expect.poll(() => node.given.length).toBe(1);
    node.start(a);
    await fixture.stands(a, { status: STATUS.running });
    await fixture.controller.stop();
    await fixture.start();
    node.offer(1, ['p']);
    node.inventory();
    node.finish(a);
    await fixture.stands(a, { status: STATUS.succeeded });
    await expect.poll(() => node.given.at(-1)).toEqual({ id: b, attempt: 1 });
  });

  test('an order that was lost is sent again when the node says what it has', async () => {
    const node = fixture.nodes.enter('n1');
    const queue = await fixture.queue('q');
    fixture.nodes.deaf = true;
    node.offer(1, ['p']);
    const [id = ''] = await fixture.add(queue, 1);
    await fixture.stands(id, { status: STATUS.claimed, attempt: 1 });
    fixture.nodes.deaf = false;
    node.inventory();
    await expect.poll(() => node.given).toEqual([{ id, attempt: 1 }]);
    node.start(id);
    node.tasks.clear();
    node.inventory();
    await fixture.stands(id, { status: STATUS.orphaned, reason: 'n1 does not have it any more' });
  });

  test('more tasks than are kept in memory come in their order', async () => {
    const node = fixture.nodes.enter('n1');
    const queue = await fixture.queue('q');
    const ids: string[] = [];
    for (let part = 0; part < 5; part++) ids.push(...(await fixture.add(queue, 1000)));
    node.offer(400, ['p']);
    await expect
      .poll(() => {
        for (const id of [...node.tasks.keys()]) node.finish(id);
        return node.given.length;
      })
      .toBe(5000);
    expect(node.given.map(({ id }) => id)).toEqual(ids);
  });
});
