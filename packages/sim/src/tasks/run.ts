import type { Run, RunOptions } from '../kernel/explore.js';
import { Violation } from '../kernel/violation.js';
import { misbehave } from './chaos.js';
import { name, type StoredTask } from './checks.js';
import { ORG } from './organization.js';
import { World } from './world.js';

/** After the faults all that can run has run within this time. */
const RECOVERY_MS = 30 * 60_000;
/** Between two looks whether all is well. */
const LOOK_MS = 500;

/** One run: everything that a seed says, then peace, in which all must come to an end. */
export async function simulateTasks(seed: number, options: RunOptions = {}): Promise<Run> {
  const world = await World.open(seed, options);
  try {
    const faults = await misbehave(world, options.chaosMs ?? null);
    const recoveredMs = world.violation === null ? await recover(world) : 0;
    const outcomes = new Map<string, number>();
    for (const { status } of world.checks.tasks.values()) {
      outcomes.set(name(status), (outcomes.get(name(status)) ?? 0) + 1);
    }
    const { size } = world.checks.tasks;
    return { seed, recoveredMs, faults, outcomes, work: { tasks: size, runs: world.ledger.runs }, ...world.ended() };
  } finally {
    world.killServer();
    world.database.close();
  }
}

async function recover(world: World): Promise<number> {
  const began = world.timeline.now;
  world.disk.failing = false;
  world.disk.unknown = 0;
  for (const machine of world.machines) {
    world.heal(machine);
    world.startAgent(machine);
  }
  if (world.server === null) await world.until(world.startServer());
  const until = world.timeline.now + RECOVERY_MS;
  while (world.violation === null && !isWell(world)) {
    const next = Math.min(until, world.timeline.now + LOOK_MS);
    while (world.violation === null && (await world.step(next)));
    if (world.timeline.now < until) continue;
    world.report(new Violation('all that can run has run', unwell(world)));
  }
  if (world.violation === null) await nothingLost(world);
  return world.timeline.now - began;
}

/** Every task ended, or waits for what is not there; no node has any. */
function isWell(world: World): boolean {
  if (world.server?.ready !== true) return false;
  if (world.machines.some((machine) => machine.holds > 0)) return false;
  return [...world.checks.tasks.values()].every((task) => rests(world, task)) && miscounted(world).length === 0;
}

function rests(
  world: World,
  { id, status, waitsFor, queue }: Pick<StoredTask, 'id' | 'status' | 'waitsFor' | 'queue'>,
): boolean {
  if (status === -1 || status === 0) return false;
  if (status === -4) return waitsFor > 0 && waitsFor === world.checks.waitsFor(id);
  return status !== -2 || world.checks.threads.get(queue) === 0 || !world.machines.some(canRun(world, queue));
}

function canRun(world: World, queueId: string): (machine: World['machines'][number]) => boolean {
  const plugin = world.server?.tasks.controller.queue(ORG.id, queueId)?.plugin ?? '';
  return ({ plan }) => plan.plugins.includes(plugin);
}

function unwell(world: World): string {
  const tasks = [...world.checks.tasks.values()].filter((task) => !rests(world, task));
  const held = world.machines.filter(({ holds }) => holds > 0).map((machine) => `${machine.name} has ${machine.holds}`);
  const why = world.server?.tasks.controller
    .queues(ORG.id)
    .map(({ name: queue, why: reasons }) => `${queue}: ${reasons.join(' ')}`);
  return [
    ...tasks.map(({ id, status, attempt }) => `${id} is ${name(status)} (attempt ${attempt})`),
    ...held,
    ...(why ?? []),
  ].join('; ');
}

/** Where what is counted in memory is not what is stored. */
function miscounted(world: World): string[] {
  const real = new Map<string, number>();
  for (const { queue, status } of world.checks.tasks.values()) {
    const key = `${queue} ${name(status)}`;
    real.set(key, (real.get(key) ?? 0) + 1);
  }
  const queues = world.server?.tasks.controller.queues(ORG.id) ?? [];
  return queues.flatMap(({ id, counts, name: queue }) =>
    Object.entries(counts).flatMap(([status, tasks]) => {
      const stored = real.get(`${id} ${status}`) ?? 0;
      return tasks === stored ? [] : [`${queue}: ${tasks} ${status} in memory, ${stored} stored`];
    }),
  );
}

/** The tasks that were acknowledged are all there. */
async function nothingLost(world: World): Promise<void> {
  const stored = await world.database.read.selectFrom('tasks').select('id').execute();
  const there = new Set(stored.map(({ id }) => id));
  for (const id of world.acknowledged) {
    if (!there.has(id)) world.report(new Violation('nothing is lost', `task ${id} was acknowledged, and is not there`));
  }
}
