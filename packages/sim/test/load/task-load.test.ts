import { TaskLoad } from '@muster/sim';
import type { AgentMessage, AssignedTask, TaskNews, TaskOrder } from '@muster/wire';
import { expect, test } from 'vitest';

const task = (id: string): AssignedTask => ({
  id,
  attempt: 1,
  queue: { id: 'q', name: 'q' },
  plugin: 'noop',
  params: {},
  ctime: 0,
  mtime: 0,
  timeoutSeconds: null,
  outputLimit: 0,
});
const orders = (given: Partial<Extract<TaskOrder, { type: 'task_orders' }>>): TaskOrder => ({
  type: 'task_orders',
  assign: [],
  settled: [],
  cancel: [],
  recall: [],
  ...given,
});

function started(slots: number, runMs: number) {
  const sent: AgentMessage[] = [];
  const load = new TaskLoad({ plugin: 'noop', slots, runMs }, (message) => sent.push(message));
  const news = (): TaskNews[] => sent.flatMap((message) => (message.type === 'task_news' ? message.news : []));
  const told = (event: string): string[] => news().flatMap((one) => (one.event === event ? one.id : []));
  return { load, sent, told };
}

test('a simulated node says what it offers and what it has when it connects', () => {
  const { load, sent } = started(4, 0);
  load.connected();
  expect(sent).toMatchObject([
    { type: 'task_slots', max: 4, plugins: [{ name: 'noop' }] },
    { type: 'task_inventory', held: [] },
  ]);
});

test('a simulated node runs no more tasks at one time than it has slots', async () => {
  const { load, told } = started(2, 60_000);
  load.receive(orders({ assign: ['a', 'b', 'c'].map(task) }));
  await expect.poll(() => told('started')).toEqual(['a', 'b']);
  load.receive(orders({ cancel: ['a', 'b', 'c'].map((id) => ({ id, attempt: 1 })) }));
});

test('a simulated node runs what waited when others have ended', async () => {
  const { load, told } = started(2, 1);
  load.receive(orders({ assign: ['a', 'b', 'c'].map(task) }));
  await expect.poll(() => told('finished')).toEqual(['a', 'b', 'c']);
});

test('a simulated node tells an end again when it connects, until that is settled', async () => {
  const { load, sent, told } = started(1, 0);
  load.receive(orders({ assign: [task('a')] }));
  await expect.poll(() => told('finished')).toEqual(['a']);
  load.connected();
  await expect.poll(() => told('finished')).toEqual(['a', 'a']);
  load.receive(orders({ settled: [{ id: 'a', attempt: 1 }] }));
  load.connected();
  expect(sent.at(-1)).toEqual({ type: 'task_inventory', held: [] });
});

test('a simulated node gives back what has not begun, and ends what is cancelled', async () => {
  const { load, told } = started(1, 60_000);
  load.receive(orders({ assign: [task('a'), task('b')] }));
  load.receive(orders({ recall: [{ id: 'b', attempt: 1 }], cancel: [{ id: 'a', attempt: 1 }] }));
  await expect.poll(() => told('returned')).toEqual(['b']);
  expect(told('cancelled')).toEqual(['a']);
  expect(told('started')).toEqual(['a']);
});
