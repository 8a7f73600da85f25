import type { TaskRef } from '@muster/wire';
import { expect, test } from 'vitest';
import { NodeSlots } from '../src/assign/node-slots.js';
import type { LiveTask } from '../src/controller/live-task.js';
import { Orders } from '../src/controller/orders.js';
import { Outbox } from '../src/controller/outbox.js';
import { PlayedNodes } from './support/played-nodes.js';

const ref = (id: string): TaskRef => ({ id, attempt: 1 });

/** Orders to begin these, to forget those, and to give up others. */
function orders({ begin = [], ...rest }: Partial<Record<'begin' | 'settled' | 'cancel' | 'recall', string[]>>): Orders {
  const made = new Orders();
  for (const id of begin) made.assign.push({ task: { id } as LiveTask, attempt: 1 });
  for (const what of ['settled', 'cancel', 'recall'] as const) made[what].push(...(rest[what] ?? []).map(ref));
  return made;
}

function open() {
  const nodes = new PlayedNodes();
  const [one, other] = ['n1', 'n2'].map((name) => new NodeSlots(nodes.enter(name).view)) as [NodeSlots, NodeSlots];
  const sent: string[] = [];
  const outbox = new Outbox(({ node }, { assign, settled, cancel, recall }) => {
    const said = [assign.map(({ task }) => task), settled, cancel, recall].map((list) => list.map(({ id }) => id));
    sent.push(`${node.name} ${said.map((ids) => ids.join('+')).join(',')}`);
  });
  return { outbox, sent, one, other };
}

test('orders of several turns leave together, each node its own', async () => {
  const { outbox, sent, one, other } = open();
  outbox.put(new Map([[one, orders({ begin: ['a'], settled: ['b'] })]]));
  outbox.put(
    new Map([
      [other, orders({ begin: ['c'] })],
      [one, orders({ begin: ['d'], settled: ['e'] })],
    ]),
  );
  expect(sent).toEqual([]);
  await Promise.resolve();
  expect(sent).toEqual(['n1 a+d,b+e,,', 'n2 c,,,']);
  outbox.put(new Map([[one, orders({ settled: ['f'] })]]));
  await Promise.resolve();
  expect(sent.slice(2)).toEqual(['n1 ,f,,']);
});

test.each(['cancel', 'recall'] as const)('a %s does not overtake what it gives up', async (what) => {
  const { outbox, sent, one } = open();
  outbox.put(new Map([[one, orders({ begin: ['a'] })]]));
  outbox.put(new Map([[one, orders({ [what]: ['a'] })]]));
  outbox.put(new Map([[one, orders({ settled: ['b'] })]]));
  await Promise.resolve();
  expect(sent).toEqual(['n1 a,,,', what === 'cancel' ? 'n1 ,b,a,' : 'n1 ,b,,a']);
});
