import type { Store } from '@muster/store';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { appendChunk } from '../../platform/src/output/chunks.js';
import { OUTPUT_LIMITS } from '../../platform/src/output/limits.js';
import { taskSubject } from '../src/events.js';
import { TASK_LIMITS } from '../src/limits.js';
import { TaskRetention, type TaskRetentionDeps } from '../src/retention.js';
import { STATUS } from '../src/status.js';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG } from './support/played-nodes.js';

/** Finished tasks go when they are old, and with them all that is stored of them. */

const DAY = 86_400_000;
const KEEP = 30 * DAY;

let fixture: Fixture;
const failures: unknown[] = [];
/** Transactions of stores made by `storeWith`. */
let underWay = 0;

beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(async () => {
  expect(failures.splice(0)).toEqual([]);
  await fixture.close();
});

function retention(also: Partial<TaskRetentionDeps> = {}): TaskRetention {
  return new TaskRetention({
    store: fixture.store,
    clock: fixture.clock,
    keepMs: fixture.config.tasks.keep * 1000,
    queues: () => fixture.controller.allQueues(),
    beginDeleting: (ids) => fixture.controller.beginDeleting(ids),
    undoDeleting: (ids) => fixture.controller.undoDeleting(ids),
    failed: (error) => failures.push(error),
    ...also,
  });
}

/** Nothing happens meanwhile. */
const pass = (ms: number): void => fixture.clock.set(ms);
const prune = () => retention().prune();
const counts = (queue: string) => fixture.controller.queue(ORG.id, queue)?.counts;
const there = async () =>
  (await fixture.store.read.selectFrom('tasks').select('id').orderBy('id').execute()).map(({ id }) => id);

async function rows(table: 'task_attempts' | 'task_dependencies' | 'task_keys' | 'output_chunks' | 'deleted_tasks') {
  return (await fixture.store.read.selectFrom(table).selectAll().execute()).length;
}

/** The store, with something that happens before each of its transactions. */
function storeWith(before: (nth: number) => Promise<void>): Store {
  const { store } = fixture;
  let nth = 0;
  return {
    ...store,
    read: store.read,
    transact: async (work) => {
      await before(++nth);
      underWay += 1;
      return store.transact(work).finally(() => {
        underWay -= 1;
      });
    },
  };
}

async function cancelled(queue: string, tasks: number): Promise<string[]> {
  const ids = await fixture.add(queue, tasks);
  await fixture.act('cancel', ...ids);
  return ids;
}

describe('a task that has ended', () => {
  test('is kept for thirty days, and then goes, and is counted no more', async () => {
    const queue = await fixture.queue('q');
    const [old = ''] = await cancelled(queue, 1);
    pass(KEEP);
    const [later = ''] = await cancelled(queue, 1);
    await prune();
    expect(await there()).toEqual([old, later]);
    pass(1);
    await prune();
    expect(await there()).toEqual([later]);
    expect(counts(queue)).toMatchObject({ cancelled: 1 });
  });

  test('is counted from its end, not from when it was added', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => node.tasks.has(id)).toBe(true);
    pass(KEEP);
    node.finish(id);
    await fixture.stands(id, { status: STATUS.succeeded });
    pass(KEEP);
    await prune();
    expect(await there()).toEqual([id]);
    pass(1);
    await prune();
    expect(await there()).toEqual([]);
  });

  test.each(['succeeded', 'failed', 'terminated', 'orphaned', 'cancelled'] as const)('goes that %s', async (how) => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => node.tasks.has(id)).toBe(true);
    if (how === 'succeeded') node.finish(id);
    else if (how === 'failed') node.finish(id, { status: STATUS.failed });
    else if (how === 'orphaned') node.down();
    else node.news({ ...node.ref(id), event: 'cancelled', forced: how === 'terminated', bytes: null, durationMs: 1 });
    await fixture.stands(id, { status: STATUS[how] });
    expect(counts(queue)).toMatchObject({ [how]: 1 });
    pass(KEEP + 1);
    await prune();
    expect(await there()).toEqual([]);
    expect(counts(queue)).toMatchObject({ [how]: 0 });
  });

  test('is kept as long as its queue says, and for ever if that is 0', async () => {
    const short = await fixture.queue('short', { rules: { keep: 60 } });
    const always = await fixture.queue('always', { rules: { keep: 0 } });
    const usual = await fixture.queue('usual');
    const [one = ''] = await cancelled(short, 1);
    const [two = ''] = await cancelled(always, 1);
    const [three = ''] = await cancelled(usual, 1);
    pass(60_000);
    await prune();
    expect(await there()).toEqual([one, two, three]);
    pass(1);
    await prune();
    expect(await there()).toEqual([two, three]);
    pass(10 * 365 * DAY);
    await prune();
    expect(await there()).toEqual([two]);
  });

  test('is kept for ever where the server says so, but for queues that say otherwise', async () => {
    const [kept = ''] = await cancelled(await fixture.queue('usual'), 1);
    await cancelled(await fixture.queue('short', { rules: { keep: 60 } }), 1);
    pass(10 * 365 * DAY);
    await retention({ keepMs: 0 }).prune();
    expect(await there()).toEqual([kept]);
  });

  test('is retried by nobody any more once it is being deleted', async () => {
    const queue = await fixture.queue('q');
    const [retried = ''] = await cancelled(queue, 2);
    pass(KEEP + 1);
    const store = storeWith(async (nth) => {
      if (nth !== 1) return;
      expect(await fixture.act('retry', retried)).toEqual([{ id: retried, refused: 'it does not exist' }]);
    });
    await retention({ store }).prune();
    expect(await there()).toEqual([]);
    expect(counts(queue)).toMatchObject({ queued: 0, cancelled: 0 });
  });

  test('that is retried at that moment either goes or runs again', async () => {
    const queue = await fixture.queue('q');
    const node = fixture.nodes.enter('n1');
    for (let round = 1; round <= 5; round++) {
      const [id = ''] = await cancelled(queue, 1);
      pass(fixture.clock.now() + KEEP + 1);
      const [[acted]] = await Promise.all([fixture.act('retry', id), prune()]);
      const left = await there();
      expect(left).toEqual(acted?.refused === null ? [id] : []);
      expect(counts(queue)).toMatchObject({ queued: left.length, cancelled: 0 });
      await fixture.act('remove', id);
    }
    node.offer(1, ['p']);
    expect(node.given).toEqual([]);
  });

  test('stays after a deletion that failed, and can be retried', async () => {
    const queue = await fixture.queue('q');
    const [id = ''] = await cancelled(queue, 1);
    pass(KEEP + 1);
    const store = storeWith(async () => {
      throw new Error('the database is away');
    });
    await expect(retention({ store }).prune()).rejects.toThrow('the database is away');
    expect(await fixture.act('retry', id)).toEqual([{ id, refused: null }]);
    await fixture.stands(id, { status: STATUS.queued });
  });

  test('takes its output, its attempts and what it waited for with it', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q', { rules: { retry: { limit: 1, first: 1, longest: 1 } } });
    const other = await fixture.queue('other', { plugin: 'none', rules: { keep: 0 } });
    const [before = ''] = await cancelled(other, 1);
    const [id = ''] = await fixture.add(queue, 1);
    for (const attempt of [1, 2]) {
      await expect.poll(() => node.given.at(-1)).toEqual({ id, attempt });
      node.finish(id, { status: STATUS.failed });
      await expect.poll(async () => (await fixture.row(id)).failures).toBe(attempt);
      fixture.clock.advance(1000);
    }
    const chunks = 2 * OUTPUT_LIMITS.chunksCleared + 1;
    await fixture.store.commit(
      [id, before].flatMap((of) =>
        Array.from({ length: chunks }, (_, position) =>
          appendChunk({ subject: taskSubject(of), part: '1', stream: 'stdout', position, data: Buffer.from('x') }),
        ),
      ),
    );
    const [waits = ''] = await fixture.add(queue, [{ params: {}, options: { after: [before] } }]);
    await fixture.act('cancel', waits);
    expect([await rows('task_attempts'), await rows('task_dependencies')]).toEqual([1, 1]);
    pass(KEEP + 1);
    await prune();
    expect(await there()).toEqual([before]);
    expect([await rows('task_attempts'), await rows('task_dependencies'), await rows('deleted_tasks')]).toEqual([
      0, 0, 0,
    ]);
    expect(await rows('output_chunks')).toBe(chunks);
  });

  test('that others waited for, and that succeeded, leaves them nothing to wait for', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q');
    const late = await fixture.queue('late', { plugin: 'none' });
    const [first = ''] = await fixture.add(queue, 1);
    await expect.poll(() => node.tasks.has(first)).toBe(true);
    const [next = ''] = await fixture.add(late, [{ params: {}, options: { after: [first] } }]);
    node.finish(first);
    await fixture.stands(next, { status: STATUS.queued, waits_for: 0 });
    pass(KEEP + 1);
    await prune();
    expect(await there()).toEqual([next]);
    await fixture.act('hold', next);
    await fixture.act('release', next);
    await fixture.stands(next, { status: STATUS.queued, waits_for: 0 });
  });
});

test('what has not ended stays, however old it is', async () => {
  const node = fixture.nodes.enter('n1');
  const queue = await fixture.queue('q');
  const ids = await fixture.add(queue, 4);
  const [running = '', , , held = ''] = ids;
  await fixture.act('hold', held);
  node.offer(2, ['p']);
  await expect.poll(() => node.given.length).toBe(2);
  node.start(running);
  await fixture.stands(running, { status: STATUS.running });
  const [blocked = ''] = await fixture.add(queue, [{ params: {}, options: { after: [held] } }]);
  pass(10 * KEEP);
  await prune();
  expect(await there()).toEqual([...ids, blocked]);
  expect(counts(queue)).toMatchObject({ running: 1, claimed: 1, queued: 1, held: 1, blocked: 1 });
});

test('more than one transaction deletes go in one round', async () => {
  const queue = await fixture.queue('q');
  await cancelled(queue, 1001);
  pass(KEEP + 1);
  const left: number[] = [];
  const store = storeWith(async () => {
    left.push((await there()).length);
  });
  await retention({ store }).prune();
  expect([...new Set(left)]).toEqual([1001, 501, 1, 0]);
  expect(counts(queue)).toMatchObject({ cancelled: 0 });
  expect(await rows('deleted_tasks')).toBe(0);
});

test('keys are forgotten when their time is over', async () => {
  const queue = await fixture.queue('q');
  await fixture.add(queue, [
    { params: {}, options: { unique: { key: 'minute', seconds: 60 } } },
    { params: {}, options: { unique: { key: 'hour', seconds: 3600 } } },
  ]);
  pass(60_000);
  await prune();
  expect(await rows('task_keys')).toBe(2);
  pass(1);
  await prune();
  expect(await fixture.store.read.selectFrom('task_keys').select('key').execute()).toEqual([{ key: 'hour' }]);
});

test('what became of the times of schedules is forgotten after its time', async () => {
  const at = fixture.clock.now();
  const run = { schedule_id: 'a'.repeat(24), org_id: ORG.id, outcome: 'started', kind: 'task', run: null } as const;
  const also = { count: 1, reason: null };
  const runs = [at, at + DAY].map((due, n) => ({ ...run, ...also, id: `${n}`, at: due, due_at: due }));
  await fixture.store.transact((trx) => trx.insertInto('schedule_runs').values(runs).execute());
  pass(TASK_LIMITS.historyMs + 1);
  await prune();
  expect(await fixture.store.read.selectFrom('schedule_runs').select('at').execute()).toEqual([{ at: at + DAY }]);
});

describe('a queue that was deleted', () => {
  test('goes with its tasks in steps, and with all that is left of them', async () => {
    const queue = await fixture.queue('q');
    const ids = await fixture.add(queue, [
      ...Array.from({ length: 1001 }, () => ({ params: {} })),
      { params: {}, options: { unique: { key: 'k', seconds: 60 } } },
    ]);
    const [, waits = ''] = await fixture.add(queue, [
      { params: {} },
      { params: {}, options: { after: ids.slice(0, 2) } },
    ]);
    await fixture.store.commit([
      appendChunk({ subject: taskSubject(waits), part: '1', stream: 'stdout', position: 0, data: Buffer.from('x') }),
    ]);
    const others = await cancelled(await fixture.queue('other'), 1);
    await fixture.controller.removeQueue(ORG, queue, { force: false, keepTasks: false }, BY);
    expect(await rows('task_keys')).toBe(0);
    const left: number[] = [];
    const store = storeWith(async () => {
      left.push((await there()).length);
    });
    await retention({ store, keepMs: 0 }).prune();
    expect([...new Set(left)]).toEqual([1005, 505, 5, 1]);
    expect(await there()).toEqual(others);
    expect(await fixture.store.read.selectFrom('deleted_task_queues').selectAll().execute()).toEqual([]);
    expect([await rows('task_dependencies'), await rows('output_chunks'), await rows('deleted_tasks')]).toEqual([
      0, 0, 0,
    ]);
  });

  test('leaves a task that a node has until that has told how it ended', async () => {
    const node = fixture.nodes.enter('n1');
    node.offer(1, ['p']);
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 2);
    await expect.poll(() => node.tasks.has(id)).toBe(true);
    await fixture.controller.removeQueue(ORG, queue, { force: true, keepTasks: false }, BY);
    await prune();
    expect(await there()).toEqual([id]);
    await expect.poll(() => node.cancels).toEqual([{ id, attempt: 1 }]);
    node.finish(id);
    await fixture.stands(id, { status: STATUS.succeeded });
    await prune();
    expect(await there()).toEqual([]);
    expect(await fixture.store.read.selectFrom('deleted_task_queues').selectAll().execute()).toEqual([]);
  });

  test('leaves its tasks where it was asked to', async () => {
    const queue = await fixture.queue('q');
    const ids = await fixture.add(queue, 2);
    await fixture.controller.removeQueue(ORG, queue, { force: false, keepTasks: true }, BY);
    await prune();
    expect(await there()).toEqual(ids);
  });

  test('is deleted to its end by the next server, when this one stopped in the middle', async () => {
    const queue = await fixture.queue('q');
    await fixture.add(queue, 501);
    await fixture.controller.removeQueue(ORG, queue, { force: false, keepTasks: false }, BY);
    const first: TaskRetention = retention({
      store: storeWith(async () => {
        void first.stop();
      }),
    });
    await first.prune();
    expect(await there()).toHaveLength(1);
    expect(await rows('deleted_tasks')).toBe(500);
    await prune();
    expect(await there()).toEqual([]);
    expect(await rows('deleted_tasks')).toBe(0);
  });
});

test('it is done again and again, and once more after it failed', async () => {
  const MINUTE = 60_000;
  const queue = await fixture.queue('q', { rules: { keep: 1 } });
  let refusals = 1;
  const old = retention({
    store: storeWith(async () => {
      if (refusals-- > 0) throw new Error('no');
    }),
  });
  await cancelled(queue, 1);
  old.start();
  fixture.clock.advance(MINUTE);
  await expect.poll(() => failures.splice(0)).toEqual([new Error('no')]);
  for (let round = 0; round < 2; round++) {
    await expect
      .poll(async () => {
        // A transaction that lasts as long as the pause between rounds is given up.
        if (underWay === 0) fixture.clock.advance(MINUTE / 4);
        return there();
      })
      .toEqual([]);
    await cancelled(queue, 1);
  }
  await old.stop();
});
