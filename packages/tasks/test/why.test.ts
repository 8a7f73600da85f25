import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { taskAspect } from '../src/aspect.js';
import { TASK_LIMITS } from '../src/limits.js';
import { STATUS } from '../src/status.js';
import { BY, type Fixture, openFixture } from './support/controller-fixture.js';
import { ORG } from './support/played-nodes.js';

/** Each reason why nothing of a queue, or a task, moves (issue: "why answers for every queue and task that does not move"). */

let fixture: Fixture;

beforeEach(async () => {
  fixture = await openFixture();
});
afterEach(() => fixture.close());

const whyQueue = (queue: string): readonly string[] => fixture.controller.queue(ORG.id, queue)?.why ?? ['no queue'];
const whyTask = async (id: string): Promise<readonly string[]> => fixture.controller.why(await fixture.row(id));

/** The queue and its first task say the same. */
async function bothSay(queue: string, id: string, why: readonly string[]): Promise<void> {
  await expect.poll(() => whyQueue(queue)).toEqual(why);
  expect(await whyTask(id)).toEqual(why);
}

function node(name: string, max: number, plugins: readonly string[] = ['p']) {
  const entered = fixture.nodes.enter(name);
  entered.offer(max, plugins);
  return entered;
}

describe('a queue that', () => {
  test('has nothing to do, or moves, needs no reason', async () => {
    const one = node('n1', 1);
    const queue = await fixture.queue('q');
    expect(whyQueue(queue)).toEqual([]);
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => one.given.length).toBe(1);
    expect(whyQueue(queue)).toEqual([]);
    expect(await whyTask(id)).toEqual(['n1 has it, and begins it when a slot is free.']);
    one.start(id);
    await fixture.stands(id, { status: STATUS.running });
    expect(await whyTask(id)).toEqual(['n1 runs it.']);
    await fixture.act('cancel', id);
    expect(await whyTask(id)).toEqual(['n1 runs it, and was told to end it.']);
  });

  test('is paused', async () => {
    node('n1', 1);
    const queue = await fixture.queue('q');
    await fixture.controller.changeQueue(ORG, queue, { state: 'paused' }, BY);
    expect(whyQueue(queue)).toEqual(['The queue is paused: `muster queue resume q`.']);
    const [id = ''] = await fixture.add(queue, 1);
    await bothSay(queue, id, ['The queue is paused: `muster queue resume q`.']);
  });

  test('has all of its threads busy, or none', async () => {
    node('n1', 9);
    const queue = await fixture.queue('q', { threads: 2 });
    const [, , id = ''] = await fixture.add(queue, 3);
    await bothSay(queue, id, ['All of its 2 threads are busy (claimed 2, running 0).']);
    const none = await fixture.queue('none', { threads: 0 });
    const [waits = ''] = await fixture.add(none, 1);
    await bothSay(none, waits, ['Its threads are 0: `muster queue set none --threads N`.']);
  });

  test('has a plugin that no node has', async () => {
    node('n1', 1, ['other']);
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    await bothSay(queue, id, ["No node that is up has the plugin 'p' (1 takes tasks)."]);
  });

  test('may use nodes that are full', async () => {
    node('n1', 1);
    node('n2', 1);
    const queue = await fixture.queue('q');
    const [, , id = ''] = await fixture.add(queue, 3);
    await bothSay(queue, id, ['2 of 2 nodes that may run it are full.']);
  });

  test('is left out by selectors, or by what its nodes say', async () => {
    fixture.nodes.enter('n1').offer(1, ['p'], { ignorequeues: ['q'] });
    const ignored = await fixture.queue('q');
    const [id = ''] = await fixture.add(ignored, 1);
    const left =
      "Nodes have the plugin, but the queue's selectors or their own `activequeues` and `ignorequeues` leave out all 1.";
    await bothSay(ignored, id, [left]);
    const selective = await fixture.queue('media', { rules: { nodes: 'role:media' } });
    const [other = ''] = await fixture.add(selective, 1);
    await bothSay(selective, other, [left]);
  });

  test('has a plugin whose nodes are down', async () => {
    const gone = node('n1', 1);
    const queue = await fixture.queue('q');
    gone.down();
    const [id = ''] = await fixture.add(queue, 1);
    await bothSay(queue, id, ['No node that is up takes tasks (0 of 1 known are up).']);
    node('n2', 1, ['other']);
    await bothSay(queue, id, ["No node that is up has the plugin 'p' (1 takes tasks; down: n1, which had it)."]);
  });

  test('has used up its rate', async () => {
    const one = node('n1', 9);
    const queue = await fixture.queue('q', { rules: { rate: { tasks: 2, seconds: 60 } } });
    const [, , id = ''] = await fixture.add(queue, 3);
    await expect.poll(() => one.given.length).toBe(2);
    await bothSay(queue, id, ['Its rate is used up for 30 s.']);
  });

  test('has used up its rate, as far as a server knows that has just begun', async () => {
    const queue = await fixture.queue('q', { rules: { rate: { tasks: 2, seconds: 60 } } });
    const [id = ''] = await fixture.add(queue, 3);
    await fixture.controller.stop();
    await fixture.start();
    const one = node('n1', 9);
    await bothSay(queue, id, ['Its rate is used up for 30 s.']);
    expect(one.given).toEqual([]);
  });

  test('has as many tasks of each key running as may', async () => {
    const one = node('n1', 9);
    const queue = await fixture.queue('q', { rules: { key: { param: 'user', limit: 1 } } });
    const [, id = ''] = await fixture.add(queue, [{ params: { user: 'a' } }, { params: { user: 'a' } }]);
    await expect.poll(() => one.given.length).toBe(1);
    await expect
      .poll(() => whyQueue(queue))
      .toEqual(['Each of its keys that something waits for has as many tasks running as it may: 1.']);
    expect(await whyTask(id)).toEqual(["As many tasks with its key 'a' run as may at one time."]);
  });

  /** Five tasks of the queue fail at once; one more waits. */
  async function failing(queue: string) {
    const one = node('n1', 1);
    const ids = await fixture.add(queue, 6);
    for (const id of ids.slice(0, 5)) {
      await expect.poll(() => one.tasks.has(id)).toBe(true);
      one.finish(id, { status: 2, reason: 'exit status 1', exitCode: 1 });
      await fixture.stands(id, { status: STATUS.failed });
    }
    return { one, ids };
  }

  test('has tasks that fail at once on a node, one after the other', async () => {
    const queue = await fixture.queue('q', { rules: { retry: { limit: 0, first: 1, longest: 1 } } });
    const { one, ids } = await failing(queue);
    // A node that is quick may have been given it before that was known.
    const [last = ''] = ids.slice(-1);
    const more = one.tasks.has(last) ? (await fixture.add(queue, 1))[0] : last;
    const why = "n1 gets no tasks of 'p' for 60 s: the last ones failed at once, one after the other.";
    await bothSay(queue, more ?? '', [why]);
    // The node says so, too.
    const aspect = taskAspect(fixture.controller.slotsOf, () => fixture.clock.monotonic());
    expect(aspect.explain(one.view, fixture.clock.now())).toEqual({ available: true, sentences: [why] });
  });

  test('has tasks that failed at once on a node, which tries one of them after a while', async () => {
    const queue = await fixture.queue('q', { rules: { retry: { limit: 0, first: 1, longest: 1 } } });
    const { one, ids } = await failing(queue);
    const [last = ''] = ids.slice(-1);
    if (one.tasks.has(last)) one.finish(last, { status: 2, reason: 'exit status 1', exitCode: 1 });
    const more = await fixture.add(queue, 2);
    await expect.poll(() => whyQueue(queue)).toEqual([expect.stringMatching(/^n1 gets no tasks of 'p' for /)]);
    fixture.clock.advance(60_000);
    await expect.poll(() => more.filter((id) => one.tasks.has(id)).length).toBe(1);
    const [waits = ''] = more.filter((id) => !one.tasks.has(id));
    const why = "n1 is tried with one task of 'p': the last ones failed at once, one after the other.";
    await bothSay(queue, waits, [why]);
  });

  test('has only held tasks left', async () => {
    node('n1', 1);
    const queue = await fixture.queue('q');
    await fixture.controller.changeQueue(ORG, queue, { state: 'paused' }, BY);
    const [id = ''] = await fixture.add(queue, 1);
    await fixture.act('hold', id);
    expect(whyQueue(queue)).toEqual(['Only held tasks are left: 1.']);
    expect(await whyTask(id)).toEqual([
      `It is held (code -7): held by anna. \`muster task release ${id}\` lets it go on.`,
    ]);
  });
});

describe('a task that', () => {
  test('waits for its time says which; with a key, too, it is not the key that is said', async () => {
    node('n1', 1);
    const queue = await fixture.queue('q', { rules: { key: { param: 'user', limit: 1 } } });
    const notBefore = fixture.clock.now() + 3_600_000;
    const [id = ''] = await fixture.add(queue, [{ params: { user: 'a' }, options: { notBefore } }]);
    expect(await whyTask(id)).toEqual([`It waits until ${new Date(notBefore).toISOString()}.`]);
    expect(whyQueue(queue)).toEqual(['Its tasks wait for their time (retries, `not_before`).']);
  });

  test('is to be retried says when, and why', async () => {
    const one = node('n1', 1);
    const queue = await fixture.queue('q', { rules: { retry: { limit: 1, first: 60, longest: 60 } } });
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => one.tasks.has(id)).toBe(true);
    one.finish(id, { status: 2, reason: 'exit status 3', exitCode: 3 });
    await fixture.stands(id, { status: STATUS.queued });
    const until = new Date(fixture.clock.now() + 60_000).toISOString();
    expect(await whyTask(id)).toEqual([`It waits until ${until}: exit status 3.`]);
  });

  test('waits for others says for which, and how they stand', async () => {
    const queue = await fixture.queue('q');
    const [a = '', b = ''] = await fixture.add(queue, 2);
    const [id = ''] = await fixture.add(queue, [{ params: {}, options: { after: [a, b] } }]);
    await fixture.stands(id, { status: STATUS.blocked });
    expect(await whyTask(id)).toEqual([`It waits for 2 tasks that have not succeeded: ${a} (queued), ${b} (queued).`]);
    await fixture.act('cancel', a, b);
    await expect
      .poll(() => whyTask(id))
      .toEqual([`It waits for 2 tasks that have not succeeded: ${a} (cancelled), ${b} (cancelled).`]);
    await fixture.act('remove', a);
    await expect
      .poll(() => whyTask(id))
      .toEqual([`It waits for 2 tasks that have not succeeded: ${a} (deleted), ${b} (cancelled).`]);
    await expect.poll(() => whyQueue(queue)).toEqual(['Its tasks wait for others that have not succeeded: 1.']);
  });

  test('comes after others in a crowd that is assigned in several turns says so', async () => {
    const queue = await fixture.queue('q');
    const id = (await fixture.add(queue, TASK_LIMITS.assignedAtOnce + 5)).at(-1) ?? '';
    const row = await fixture.row(id);
    const one = node('n1', TASK_LIMITS.assignedAtOnce + 5);
    expect(await fixture.controller.why(row)).toEqual(['Others of the queue are before it: 5 wait.']);
    fixture.clock.advance(1);
    await expect.poll(() => one.tasks.has(id)).toBe(true);
  });

  test('its node has while its agent was stopped says that the node is down', async () => {
    const one = node('n1', 1);
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => one.tasks.has(id)).toBe(true);
    one.start(id);
    await fixture.stands(id, { status: STATUS.running });
    one.view.stoppedAt = fixture.clock.now();
    one.down();
    expect(await whyTask(id)).toEqual([
      'n1 has it, and is down: it goes on, or is lost, when the node is back or has been away too long.',
    ]);
  });

  test('has a queue that was deleted says that it will not run', async () => {
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    const row = await fixture.row(id);
    await fixture.controller.removeQueue(ORG, queue, { force: true, keepTasks: true }, BY);
    expect(await fixture.controller.why(row)).toEqual([
      'Its queue was deleted; it will not run. `muster task rm` deletes it.',
    ]);
  });

  test('has ended says how', async () => {
    const one = node('n1', 1);
    const queue = await fixture.queue('q');
    const [id = ''] = await fixture.add(queue, 1);
    await expect.poll(() => one.tasks.has(id)).toBe(true);
    one.down();
    await fixture.stands(id, { status: STATUS.orphaned });
    expect(await whyTask(id)).toEqual([
      'It was orphaned: nobody can tell how it ended: n1 is down: no heartbeat for 3 intervals.',
    ]);
  });
});
