import { ManualClock } from '@muster/base';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ORG } from '../../../tasks/test/support/played-nodes.js';
import { BY, openQueues, SYSTEM } from './support/queues.js';
import { launchOf, schedulerConformance } from './support/scheduler-conformance.js';

/** Two workers, each in a process of its own, and the server that has the queues. */
schedulerConformance('a queue of tasks, asked for by other processes', async () => {
  const queues = await openQueues();
  await queues.takeOrders();
  return {
    scratch: queues.scratch,
    scheduler: await queues.otherScheduler('one'),
    other: await queues.otherScheduler('other'),
    patienceMs: 60_000,
    close: () => queues.close(),
  };
});

describe('a worker in another process', () => {
  const opened = async () => {
    const queues = await openQueues();
    onTestFinished(() => queues.close());
    return queues;
  };

  it('is told why the server does not take its task', async () => {
    const queues = await opened();
    await queues.takeOrders();
    const launch = await launchOf(queues.scratch, '');
    const none = await queues.otherScheduler('one', { ...SYSTEM, queue: 'none' });
    await expect(none.submit(launch)).rejects.toMatchObject({ name: 'Failed', condition: 'JOB_LAUNCH_FAILURE' });
    const id = queues.controller.queue(ORG.id, SYSTEM.queue)?.id ?? '';
    await queues.controller.changeQueue(ORG, id, { state: 'draining' }, BY);
    const rack = await queues.otherScheduler('other');
    await expect(rack.submit(launch)).rejects.toMatchObject({ name: 'SystemTrouble', kind: 'SCHEDULER_BUSY' });
  });

  it('waits for a server that is away, and has one task however often it asks', async () => {
    const queues = await opened();
    const launch = await launchOf(queues.scratch, '#!/bin/sh\nexit 0\n');
    const rack = await queues.otherScheduler('one');
    const asked = Promise.all([rack.submit(launch), rack.submit(launch)]);
    await queues.takeOrders();
    const [one, again] = await asked;
    expect(again).toEqual(one);
    const stop = await queues.takeOrders();
    await stop();
    expect(await rack.submit(launch)).toEqual(one);
  });

  it('gives up on a server that stays away', async () => {
    const queues = await opened();
    const launch = await launchOf(queues.scratch, '');
    const clock = new ManualClock(0);
    const rack = await queues.otherScheduler('one', SYSTEM, clock);
    const asked = expect(rack.submit(launch)).rejects.toThrow('no server has answered within 60 s');
    clock.advance(60_000);
    await asked;
  });
});
