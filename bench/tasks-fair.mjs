import { modulePlugin, startTaskFleet, warmUp } from './task-fleet.mjs';
import { createQueue, databaseOf, percentile, progressing, queueCounts, tellQueue } from './tasks.mjs';
import { startProbes } from './tasks-latency.mjs';

export const about = 'How long tasks of a queue wait beside one with a million waiting, and alone (--tasks, --seconds)';
export const defaults = { nodes: 4, slots: 4, tasks: 1_000_000, seconds: 10, rounds: 3 };

/** Half of the slots instead of all. */
const FACTOR = 2;
/** Long enough that slots are what is short, and not processors. */
const TASK_MS = 100;
/** Of these, each slot runs so many in a burst. */
const BURST_PER_SLOT = 20;
const SETTLE_SECONDS = 2;

/**
 * Tasks of both queues take as long, and have the same weight. What is alone has all slots, what is beside another queue
 * half of them: a burst of tasks waits twice as long, which is the figure, by its mean. `tasks-fair-single` is the median of
 * tasks that come one by one: alone they find free slots, beside the other queue they wait for the next that is free.
 */
export async function* run({ nodes, slots, tasks, seconds, rounds, databaseUrl, profile }) {
  const plugins = { noop: modulePlugin('sleep'), stamp: modulePlugin('stamp') };
  const fleet = await startTaskFleet({ databaseUrl, profile, agents: nodes, tasks: { max: slots, plugins } });
  const probes = await startProbes(fleet, 'short', { ms: TASK_MS });
  try {
    await warmUp(fleet, 'work', () => ({ ms: TASK_MS }));
    await probes.during(SETTLE_SECONDS);
    await createQueue(fleet.server, 'long', { threads: null, state: 'paused' });
    console.error(`tasks-fair: adding ${tasks} tasks`);
    await fleet.adder.add('long', tasks, () => ({ ms: TASK_MS }));
    const burst = nodes * slots * BURST_PER_SLOT;
    const bursts = { alone: [], beside: [] };
    const singles = { alone: [], beside: [] };
    for (let round = 0; round < rounds; round++) {
      for (const how of ['alone', 'beside']) {
        await tellQueue(fleet.server, 'long', how === 'alone' ? 'pause' : 'resume');
        await progressing(() => unsettled(fleet.server, how), 'tasks of the long queue');
        // Else all slots of the long queue would end at the same moment, as they do when it is resumed and never again.
        await probes.during(SETTLE_SECONDS);
        bursts[how].push(...(await waits(probes, () => probes.burst(burst))));
        singles[how].push(...(await waits(probes, () => probes.during(seconds))));
      }
    }
    const { queued } = await queueCounts(fleet.server, 'long');
    if (queued === 0) throw new Error('the long queue was worked off; give it more (--tasks)');
    const details = { waiting: tasks, task_ms: TASK_MS, nodes, slots, database: databaseOf(databaseUrl) };
    yield { ...figure('tasks-fair', mean(bursts.beside), mean(bursts.alone)), burst, ...details };
    const single = ['beside', 'alone'].map((how) => percentile(singles[how], 0.5));
    yield { ...figure('tasks-fair-single', ...single), target: null, probes: singles.beside.length, ...details };
  } finally {
    probes.remove();
    await fleet.stop();
  }
}

async function waits(probes, work) {
  probes.forget();
  await work();
  return probes.read();
}

function figure(name, value, floor) {
  return {
    figure: name,
    value: Number(value.toFixed(1)),
    unit: 'ms',
    target: Number((floor * FACTOR).toFixed(1)),
    floor: Number(floor.toFixed(1)),
    ratio: Number((value / floor).toFixed(2)),
  };
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** Paused, it is alone once nodes have none of its tasks; else they have some. 0: it is so. */
async function unsettled(server, how) {
  const { claimed, running } = await queueCounts(server, 'long');
  return how === 'alone' ? claimed + running : Number(running === 0);
}
