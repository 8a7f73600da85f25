import { ManualClock } from '@muster/base';
import { expect, it } from 'vitest';
import type { NewWorker } from '../../src/worker/layer.js';
import { OwnWorkers } from '../../src/worker/own-workers.js';
import type { JobWorker } from '../../src/worker/worker.js';

/** When a server begins workers of its own, and when they end; the workers are played. */

const ORG = { id: 'a'.repeat(32), name: 'acme' };
const quiet = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function given(slots = 4) {
  const clock = new ManualClock();
  const begun: NewWorker[] = [];
  const stopped: string[] = [];
  let away = false;
  const own = new OwnWorkers({
    store: { read: undefined as never },
    clock,
    logger: quiet,
    queues: { list: async () => [] },
    slots,
    incarnation: 'one',
    workers: {
      async add(worker) {
        if (away) throw new Error('the broker is away');
        begun.push(worker);
        return { stop: async () => void stopped.push(worker.queue) } as unknown as JobWorker;
      },
    },
  });
  const queues = () => begun.map(({ queue }) => queue);
  const setAway = (is: boolean): void => {
    away = is;
  };
  return { own, clock, begun, queues, stopped, setAway };
}

it('a queue that is used has one worker, with a name that fits', async () => {
  const { own, begun } = given();
  own.used(ORG, 'q1');
  own.used(ORG, 'q1');
  own.used(ORG, 'q2');
  await expect
    .poll(() => begun.map(({ queue, slots }) => [queue, slots]))
    .toEqual([
      ['q1', 4],
      ['q2', 4],
    ]);
  expect(new Set(begun.map(({ name }) => name)).size).toBe(2);
  for (const { name } of begun) expect(name).toMatch(/^srv-[0-9a-f]{12}$/);
});

it('without slots there is none', () => {
  const { own, begun } = given(0);
  own.used(ORG, 'q1');
  expect(begun).toEqual([]);
});

it('one that cannot begin, or had too many faults, is tried again; one that was told to end is not', async () => {
  const { own, clock, begun, queues, setAway } = given();
  setAway(true);
  own.used(ORG, 'q1');
  await expect.poll(() => clock.pending).toBe(1);
  setAway(false);
  clock.advance(5000);
  await expect.poll(queues).toEqual(['q1']);
  begun[0]?.ended?.('faults');
  clock.advance(5000);
  await expect.poll(queues).toEqual(['q1', 'q1']);
  begun[1]?.ended?.('told');
  expect(clock.pending).toBe(0);
});

it('they end with their queue, and with their organization', async () => {
  const { own, queues, stopped } = given();
  own.used(ORG, 'q1');
  own.used(ORG, 'q2');
  own.used({ id: 'b'.repeat(32), name: 'other' }, 'q3');
  await expect.poll(queues).toEqual(['q1', 'q2', 'q3']);
  await own.queueRemoved('q1');
  expect(stopped).toEqual(['q1']);
  await own.organizationRemoved(ORG.id);
  expect(stopped).toEqual(['q1', 'q2']);
});
