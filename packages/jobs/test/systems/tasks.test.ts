import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ORG } from '../../../tasks/test/support/played-nodes.js';
import { localConnection } from '../../src/systems/local/local.js';
import { BY, openQueues, SYSTEM } from './support/queues.js';
import { launchOf, schedulerConformance } from './support/scheduler-conformance.js';

schedulerConformance('a queue of tasks', async () => {
  const queues = await openQueues();
  return {
    scratch: queues.scratch,
    scheduler: queues.scheduler(),
    other: queues.scheduler(),
    patienceMs: 60_000,
    close: () => queues.close(),
  };
});

describe('a job that runs as a task', () => {
  const opened = async () => {
    const queues = await openQueues();
    onTestFinished(() => queues.close());
    return queues;
  };

  it('is told of by events, and not looked at in between', async () => {
    const queues = await opened();
    const launch = await launchOf(queues.scratch, '#!/bin/sh\nsleep 0.3\nexit 4\n');
    const scheduler = queues.scheduler();
    const job = { ...launch, ...(await scheduler.submit(launch)) };
    const states: string[] = [];
    const ended = new Promise<void>((resolve, reject) => {
      const stop = scheduler.follow(job, () => {
        scheduler.look(job).then((state) => {
          states.push(state.state);
          if (state.state !== 'ended') return;
          stop();
          resolve();
        }, reject);
      });
    });
    await ended;
    expect(states.length).toBeLessThanOrEqual(3);
    expect(await scheduler.look(job)).toMatchObject({ state: 'ended', code: 4, condition: null });
  });

  it('has succeeded as a task when its program ran, also when that failed: the node gets the next ones', async () => {
    const queues = await opened();
    const scheduler = queues.scheduler();
    // As many as a node may fail at once, one after the other, and one more.
    for (let n = 0; n < 6; n += 1) {
      const launch = await launchOf(queues.scratch, '#!/bin/sh\nexit 75\n');
      const job = { ...launch, ...(await scheduler.submit(launch)) };
      await expect.poll(async () => (await scheduler.look(job)).state).toBe('ended');
      expect(await scheduler.look(job)).toEqual({ state: 'ended', code: 75, condition: null, detail: '' });
    }
    expect(queues.controller.queue(ORG.id, 'render')?.counts).toMatchObject({ succeeded: 6, failed: 0 });
  });

  it('somebody else cancelled it', async () => {
    const queues = await opened();
    const launch = await launchOf(queues.scratch, '#!/bin/sh\nexec sleep 1000\n');
    const scheduler = queues.scheduler();
    const job = { ...launch, ...(await scheduler.submit(launch)) };
    await expect.poll(async () => (await scheduler.look(job)).state).toBe('running');
    await queues.controller.act(ORG, [job.remoteJobId], 'cancel', BY);
    await expect.poll(async () => (await scheduler.look(job)).state).toBe('ended');
    expect(await scheduler.look(job)).toMatchObject({ condition: 'SCHEDULER_CANCELLED' });
  });

  it('its node was lost', async () => {
    const queues = await opened();
    const launch = await launchOf(queues.scratch, '#!/bin/sh\nuntil test -f go; do sleep 0.1; done\n');
    const scheduler = queues.scheduler();
    const job = { ...launch, ...(await scheduler.submit(launch)) };
    await expect.poll(async () => (await scheduler.look(job)).state).toBe('running');
    queues.node.down();
    await expect.poll(async () => (await scheduler.look(job)).state).toBe('ended');
    expect(await scheduler.look(job)).toMatchObject({ code: null, condition: 'SCHEDULER_TERMINATED' });
    await writeFile(join(launch.workDirectory, 'go'), '');
  });

  it('waits when its queue takes nothing, and fails when there is none', async () => {
    const queues = await opened();
    const launch = await launchOf(queues.scratch, '');
    const id = queues.controller.queue(ORG.id, 'render')?.id ?? '';
    await queues.controller.changeQueue(ORG, id, { state: 'draining' }, BY);
    await expect(queues.scheduler().submit(launch)).rejects.toMatchObject({ kind: 'SCHEDULER_BUSY' });
    const none = queues.scheduler({ ...SYSTEM, queue: 'none' });
    await expect(none.submit(launch)).rejects.toMatchObject({ name: 'Failed', condition: 'JOB_LAUNCH_FAILURE' });
  });

  it('has no script but one below the directory of the jobs', async () => {
    const queues = await opened();
    const other = await mkdtemp(join(tmpdir(), 'muster-other-'));
    onTestFinished(() => rm(other, { recursive: true }));
    const launch = await launchOf(other, '#!/bin/sh\necho ran >ran\n');
    const scheduler = queues.scheduler();
    const around = `${queues.scratch}/../${launch.script.slice(tmpdir().length + 1)}`;
    for (const script of [launch.script, around]) {
      const uuid = `${script.length}-${launch.uuid}`;
      const job = { ...launch, uuid, ...(await scheduler.submit({ ...launch, uuid, script })) };
      await expect.poll(async () => (await scheduler.look(job)).state).toBe('ended');
      expect(await scheduler.look(job)).toMatchObject({ code: null, condition: 'SCHEDULER_TERMINATED' });
    }
    expect(await localConnection(SYSTEM, systemClock).files.stat(join(launch.workDirectory, 'ran'))).toBeNull();
  });
});
