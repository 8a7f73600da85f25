import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { systemRandom } from '@muster/platform/auth';
import { ServerConfigSchema } from '@muster/platform/config';
import type { AssignedTask, ServerMessage } from '@muster/wire';
import { Value } from 'typebox/value';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { openTestStore } from '../../../platform/test/support/test-store.js';
import { createTaskController } from '../../../tasks/src/controller/controller.js';
import { ORG, type PlayedNode, PlayedNodes } from '../../../tasks/test/support/played-nodes.js';
import { localConnection } from '../../src/systems/local/local.js';
import { createTaskRunner } from '../../src/systems/tasks/runner.js';
import { TaskScheduler } from '../../src/systems/tasks/scheduler.js';
import { launchOf, schedulerConformance } from './support/scheduler-conformance.js';

const PLUGIN = join(import.meta.dirname, '../../../../examples/plugins/shell/run-job.sh');
const BY = { identity: { type: 'user', name: 'anna', principalId: 'p' } } as const;
const SYSTEM = { name: 'rack', root: '/', orgId: ORG.id, queue: 'render' };

/** Queues and tasks on a real store, and a node that runs the example's plugin as an agent does. */
async function openQueues() {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-tasks-'));
  const test = await openTestStore();
  const recorder = await openRecorder(test.store, systemClock);
  const nodes = new PlayedNodes();
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: console.error };
  const controller = createTaskController({
    store: test.store,
    recorder,
    clock: systemClock,
    random: systemRandom,
    logger: silent,
    nodes,
    config: Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, {})),
    ended: () => undefined,
  });
  await controller.load();
  controller.start();
  const queue = { name: 'render', plugin: 'run-job', threads: null, state: 'open', rules: {} } as const;
  await controller.createQueue(ORG, queue, BY);
  const node = nodes.enter('n1');
  runTasks(node, scratch);
  node.offer(20, ['run-job']);
  const runner = createTaskRunner({
    tasks: controller,
    recorder,
    read: test.store.read,
    organization: async (id) => (id === ORG.id ? ORG : undefined),
  });
  const connection = localConnection(SYSTEM, systemClock);
  return {
    scratch,
    node,
    controller,
    scheduler: (system = SYSTEM) => new TaskScheduler(system, connection, runner, systemClock),
    async close() {
      runner.stop();
      await controller.stop();
      await test.close();
      await rm(scratch, { recursive: true });
    },
  };
}

function runTasks(node: PlayedNode, root: string): void {
  const receive = node.receive.bind(node);
  const children = new Map<string, number>();
  const cancelled = new Set<string>();
  const begin = ({ id, params }: AssignedTask): void => {
    const words = ['script', 'job', 'stdout', 'stderr'].map((name) => String(params[name]));
    const env = { PATH: process.env.PATH, MUSTER_TASK_ID: id };
    const child = spawn(PLUGIN, [root, ...words], { detached: true, stdio: 'ignore', env });
    children.set(id, Number(child.pid));
    child.once('spawn', () => node.start(id));
    child.once('exit', (exitCode, signal) => {
      const ref = node.ref(id);
      if (cancelled.has(id)) {
        node.tasks.delete(id);
        node.news({ ...ref, event: 'cancelled', forced: true, bytes: null, durationMs: 1 });
      } else {
        node.finish(id, { status: exitCode === 0 ? 1 : 2, exitCode, signal });
      }
    });
  };
  node.receive = (message: ServerMessage) => {
    receive(message);
    for (const task of node.tasks.values()) if (!children.has(task.id)) begin(task);
    for (const { id } of node.cancels.splice(0)) {
      const pid = children.get(id);
      if (pid === undefined || cancelled.has(id)) continue;
      cancelled.add(id);
      process.kill(-pid, 'SIGKILL');
    }
  };
}

schedulerConformance('a queue of tasks', async () => {
  const queues = await openQueues();
  return {
    scratch: queues.scratch,
    scheduler: queues.scheduler(),
    other: queues.scheduler(),
    patienceMs: 20_000,
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
