import type { Run, RunOptions } from '../kernel/explore.js';
import { Violation } from '../kernel/violation.js';
import { Chaos } from './chaos.js';
import { judge, left } from './ends.js';
import { World } from './world.js';

/** After the faults all jobs have ended within this time: what was disabled or away is tested every five minutes. */
const RECOVERY_MS = 45 * 60_000;
/** Between two looks whether all is well. */
const LOOK_MS = 1_000;

/** One run: everything that a seed says, then peace, in which every job must come to its end. */
export async function simulateJobs(seed: number, options: RunOptions = {}): Promise<Run> {
  const world = await World.open(seed, options);
  const chaos = new Chaos(world);
  try {
    await chaos.misbehave(options.chaosMs ?? null);
    const recoveredMs = world.violation === null ? await recover(world, chaos) : 0;
    const outcomes = new Map<string, number>();
    for (const { status } of world.checks.jobs.values()) outcomes.set(status, (outcomes.get(status) ?? 0) + 1);
    const work = { jobs: world.checks.jobs.size, programs: world.checks.programs };
    return { seed, recoveredMs, faults: chaos.faults, outcomes, work, ...world.ended() };
  } finally {
    for (const member of world.members) world.kill(member);
    world.database.close();
  }
}

async function recover(world: World, chaos: Chaos): Promise<number> {
  const { timeline, random } = world;
  const began = timeline.now;
  await chaos.peace();
  // Somebody may say that all is well; without it takes the time that policies have.
  const told = random.chance(0.9);
  const until = timeline.now + RECOVERY_MS;
  for (;;) {
    await world.pass(Math.min(until, timeline.now + LOOK_MS));
    if (world.violation !== null) break;
    chaos.goOn();
    const life = random.some(world.ready());
    if (told && life !== undefined) await chaos.testAll(life);
    const unfinished = chaos.unfinished();
    const unwell = unfinished.length > 0 ? unfinished : await left(world);
    if (unwell.length === 0) break;
    if (timeline.now >= until) world.report(new Violation('every job ends, and nothing is left', unwell.join('; ')));
  }
  if (world.violation === null) await judge(world, chaos.requests);
  return timeline.now - began;
}
