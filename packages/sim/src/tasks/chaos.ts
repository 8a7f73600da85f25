import type { TaskAction } from '@muster/tasks';
import { breakDisk, DISK_FAULTS, mendDisk } from '../kernel/disk-faults.js';
import { Violation } from '../kernel/violation.js';
import { ORG } from './organization.js';
import type { World } from './world.js';

export const FAULTS = [
  'server killed',
  'server stopped',
  'agent killed',
  'agent stopped',
  'machine rebooted',
  'node cut off',
  'node blinks',
  ...DISK_FAULTS,
] as const;

/** More would only make runs longer. */
const MOST_TASKS = 80;

const BY = { identity: { type: 'user', name: 'anna', principalId: 'p' } } as const;
const ACTIONS: readonly [TaskAction, ...TaskAction[]] = ['retry', 'cancel', 'hold', 'release'];

/** What a seed does to queues, tasks, nodes and server. Answers how often what went wrong. */
export async function misbehave(world: World, chaosMs: number | null): Promise<ReadonlyMap<string, number>> {
  const { random } = world;
  const faults = new Map<string, number>();
  await world.until(world.startServer());
  for (const machine of world.machines) world.startAgent(machine);
  const chaos = new Chaos(world);
  await chaos.makeQueues();
  const until = world.timeline.now + (chaosMs ?? random.pick([5_000, 20_000, 60_000]));
  const everyMs = random.pick([300, 2_000, 10_000]);
  const kinds = FAULTS.filter(() => random.chance(0.5));
  while (world.violation === null && world.timeline.now < until) {
    const next = world.timeline.now + random.around(everyMs);
    while (world.timeline.now < next && world.violation === null && (await world.step(next)));
    const fault = random.chance(0.4) ? random.some(kinds) : undefined;
    if (fault === undefined) chaos.work();
    else {
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
      world.coverage.reach(`fault: ${fault}`);
      await chaos.cause(fault);
    }
  }
  return faults;
}

class Chaos {
  readonly #world: World;
  readonly #queues: string[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  async makeQueues(): Promise<void> {
    const { random, server, checks } = this.#world;
    for (let index = 0; index < random.integer(1, 3); index++) {
      const threads = random.pick([null, null, 1, 2, 5]);
      const rules = {
        sort: random.pick(['fifo', 'lifo', 'default'] as const),
        weight: random.pick([1, 1, 3]),
        key: random.chance(0.3) ? { param: 'key', limit: random.integer(1, 2) } : null,
        rate: random.chance(0.2) ? { tasks: 5, seconds: 2 } : null,
        retry: { limit: random.pick([0, 1, 3]), first: 1, longest: 10 },
        orphanRetries: random.pick([0, 0, 2]),
      };
      const queue = { name: `q${index}`, plugin: random.pick(['a', 'a', 'b']), threads, state: 'open' as const, rules };
      const made = server?.tasks.controller.createQueue(ORG, queue, BY);
      if (made === undefined) return;
      await this.#world.until(made);
      const { id } = await made;
      checks.threads.set(id, threads);
      this.#queues.push(id);
    }
  }

  /** What people do. */
  work(): void {
    const { random, server, timeline, checks } = this.#world;
    if (server?.ready !== true) return;
    const { controller } = server.tasks;
    if (random.chance(0.6) && checks.tasks.size < MOST_TASKS) {
      const queue = random.some(this.#queues) ?? '';
      const known = [...checks.tasks.keys()];
      const tasks = Array.from({ length: random.pick([1, 3, 20]) }, () => ({
        params: { key: random.pick(['x', 'y', 'z']) },
        options: {
          ...(random.chance(0.2) && { priority: random.integer(-1, 1) }),
          ...(random.chance(0.1) && { notBefore: Math.floor(timeline.now) + random.integer(0, 20_000) }),
          ...(random.chance(0.05) && { expiresAt: Math.floor(timeline.now) + random.integer(0, 20_000) }),
          ...(random.chance(0.1) && known.length > 0 && { after: [random.some(known) ?? ''] }),
          ...(random.chance(0.05) && { unique: { key: random.pick(['u', 'v']), seconds: 30 } }),
        },
      }));
      this.#asked(
        controller.add(ORG, queue, tasks, BY).then((added) => {
          for (const { id } of added) this.#world.acknowledged.add(id);
        }),
      );
      return;
    }
    const ids = [...checks.tasks.keys()].filter(() => random.chance(0.05));
    if (ids.length === 0) return;
    const action = random.pick(ACTIONS);
    this.#world.coverage.reach(`act: ${action}`);
    if (action === 'retry') for (const id of ids) checks.retried.add(id);
    this.#asked(controller.act(ORG, ids, action, BY).then(() => undefined));
  }

  #asked(answer: Promise<void>): void {
    const { server, report, trace } = this.#world;
    answer.catch((error: unknown) => {
      // A server that was killed answers nobody, and one whose disk is in trouble refuses.
      trace.say(() => `refused: ${String(error)}`);
      const code = error instanceof Error && 'code' in error ? error.code : null;
      if (server?.process.alive && code !== 'store_unavailable') report(new Violation('answers', String(error)));
    });
  }

  async cause(fault: (typeof FAULTS)[number]): Promise<void> {
    const world = this.#world;
    const { random } = world;
    const machine = random.some(world.machines);
    switch (fault) {
      case 'server killed':
        world.killServer();
        return this.#serverBack();
      case 'server stopped': {
        await world.until(world.stopServer());
        if (world.server !== null) world.killServer();
        return this.#serverBack();
      }
      case 'agent killed':
      case 'agent stopped':
      case 'machine rebooted':
        if (machine === undefined) return;
        if (fault === 'agent killed') machine.kill();
        else if (fault === 'agent stopped') machine.stop();
        else machine.reboot(random.chance(0.5));
        world.trace.say(() => `${machine.name}: ${fault}`);
        world.timeline.after(random.pick([10, 1_000, 10_000]), null, () => world.startAgent(machine));
        return;
      case 'node cut off':
      case 'node blinks':
        if (machine === undefined) return;
        world.cut(machine);
        world.timeline.after(
          fault === 'node blinks' ? random.integer(1, 500) : random.integer(1_000, 20_000),
          null,
          () => world.heal(machine),
        );
        return;
      default:
        breakDisk(world.disk, fault, random, { usualMs: 2, slowMs: 500 });
        world.timeline.after(random.integer(100, 5_000), null, () => mendDisk(world.disk, 2));
    }
  }

  async #serverBack(): Promise<void> {
    const world = this.#world;
    const at = world.timeline.now + world.random.pick([10, 1_000, 15_000]);
    while (world.timeline.now < at && (await world.step(at)));
    // Its disk may be in trouble: then it does not come up before that is over.
    mendDisk(world.disk, 2);
    await world.until(world.startServer());
  }
}
