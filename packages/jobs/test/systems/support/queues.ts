import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@muster/base';
import { type Broker, EmbeddedBroker } from '@muster/broker';
import { systemRandom } from '@muster/platform/auth';
import { ServerConfigSchema } from '@muster/platform/config';
import type { AssignedTask, ServerMessage } from '@muster/wire';
import { Value } from 'typebox/value';
import { openRecorder } from '../../../../platform/test/support/recorder.js';
import { openTestStore } from '../../../../platform/test/support/test-store.js';
import { createTaskController } from '../../../../tasks/src/controller/controller.js';
import { NO_SECRETS } from '../../../../tasks/src/secrets/use.js';
import { ORG, type PlayedNode, PlayedNodes } from '../../../../tasks/test/support/played-nodes.js';
import { Asking } from '../../../src/systems/asking/asking.js';
import { OrderTaker, type OrderTakerDeps } from '../../../src/systems/asking/order-taker.js';
import { localConnection } from '../../../src/systems/local/local.js';
import { createAskingRunner } from '../../../src/systems/tasks/asking-runner.js';
import { createTaskRunner } from '../../../src/systems/tasks/runner.js';
import { TaskScheduler } from '../../../src/systems/tasks/scheduler.js';

const PLUGIN = join(import.meta.dirname, '../../../../../examples/plugins/shell/run-job.sh');
export const BY = { identity: { type: 'user', name: 'anna', principalId: 'p' } } as const;
export const SYSTEM = { name: 'rack', root: '/', orgId: ORG.id, queue: 'render' };

/** No node here is a system. */
const NO_NODES = { open: () => Promise.reject(new Error('nobody asks for nodes here')) };

/** Queues and tasks on a real store, and a node that runs the example's plugin as an agent does. */
export async function openQueues() {
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
    secrets: NO_SECRETS,
  });
  await controller.load();
  controller.start();
  const queue = { name: 'render', plugin: 'run-job', threads: null, state: 'open', rules: {} } as const;
  await controller.createQueue(ORG, queue, BY);
  const node = nodes.enter('n1');
  const programs = runTasks(node, scratch);
  node.offer(20, ['run-job']);
  const runner = createTaskRunner({
    tasks: controller,
    recorder,
    read: test.store.read,
    organization: async (id) => (id === ORG.id ? ORG : undefined),
  });
  const connection = localConnection(SYSTEM, systemClock);
  const ends: (() => Promise<void>)[] = [];
  const openBroker = async (holder: string): Promise<Broker> => {
    const broker = await EmbeddedBroker.open({
      store: test.store,
      clock: systemClock,
      log: console,
      holder,
      alone: false,
    });
    ends.push(() => broker.close());
    return broker;
  };
  return {
    scratch,
    node,
    controller,
    scheduler: (system = SYSTEM) => new TaskScheduler(system, connection, runner, systemClock),
    /** The server takes orders of others. Returns how it stops. */
    async takeOrders(connections: OrderTakerDeps['connections'] = NO_NODES) {
      const orders = new OrderTaker({
        broker: await openBroker('server'),
        runner,
        connections,
        recorder,
        log: console,
      });
      await orders.start();
      ends.push(() => orders.stop());
      return () => orders.stop();
    },
    /** As a worker in another process has it. */
    async otherScheduler(holder: string, system = SYSTEM, clock: Clock = systemClock) {
      // With SQLite there are no other processes, and so no hints for them.
      const own = test.store.kind === 'postgres' ? await openRecorder(test.store, systemClock) : recorder;
      const broker = await openBroker(holder);
      const asking = new Asking({ broker, clock });
      const asked = createAskingRunner({ asking, recorder: own, read: test.store.read });
      ends.push(
        async () => own.stop(),
        () => asking.stop(),
        async () => asked.stop(),
      );
      return new TaskScheduler(system, connection, asked, systemClock);
    },
    async close() {
      for (const end of ends.reverse()) await end();
      runner.stop();
      await programs.end();
      await controller.stop();
      await test.close();
      await rm(scratch, { recursive: true });
    },
  };
}

function runTasks(node: PlayedNode, root: string): { readonly end: () => Promise<void> } {
  const receive = node.receive.bind(node);
  const children = new Map<string, number>();
  /** Those that have not ended: they write below the root. */
  const running = new Map<number, Promise<unknown>>();
  const cancelled = new Set<string>();
  const begin = ({ id, params }: AssignedTask): void => {
    const words = ['script', 'job', 'stdout', 'stderr'].map((name) => String(params[name]));
    const env = { PATH: process.env.PATH, MUSTER_TASK_ID: id };
    const child = spawn(PLUGIN, [root, ...words], { detached: true, stdio: 'ignore', env });
    const pid = Number(child.pid);
    children.set(id, pid);
    running.set(
      pid,
      once(child, 'exit').finally(() => running.delete(pid)),
    );
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
  return {
    async end() {
      for (const pid of running.keys()) process.kill(-pid, 'SIGKILL');
      await Promise.all(running.values());
    },
  };
}
