import { modulePlugin, startTaskFleet, warmUp } from './task-fleet.mjs';
import { createQueue, databaseOf, percentile, progressing, queueCounts, tellQueue } from './tasks.mjs';
import { startProbes } from './tasks-latency.mjs';

export const about =
  'How long the tasks of a queue wait beside one with a million waiting, and alone (--tasks, --seconds)';
export const defaults = { nodes: 4, slots: 24, tasks: 1_000_000, seconds: 20, rounds: 3 };

const FACTOR = 2;
const TASK_MS = 20;

/** Tasks of both queues take as long. The long queue is paused and goes on in turn. */
export async function* run({ nodes, slots, tasks, seconds, rounds, databaseUrl, profile }) {
  const plugins = { noop: modulePlugin('sleep'), stamp: modulePlugin('stamp') };
  const fleet = await startTaskFleet({ databaseUrl, profile, agents: nodes, tasks: { max: slots, plugins } });
  const probes = await startProbes(fleet, 'short', { ms: TASK_MS });
  try {
    await warmUp(fleet, 'work', () => ({ ms: TASK_MS }));
    await probes.during(2);
    await createQueue(fleet.server, 'long', { threads: null, state: 'paused' });
    console.error(`tasks-fair: adding ${tasks} tasks`);
    await fleet.adder.add('long', tasks, () => ({ ms: TASK_MS }));
    const waits = { alone: [], beside: [] };
    for (let round = 0; round < rounds; round++) {
      for (const how of ['alone', 'beside']) {
        await tellQueue(fleet.server, 'long', how === 'alone' ? 'pause' : 'resume');
        await progressing(() => unsettled(fleet.server, how), 'tasks of the long queue');
        probes.forget();
        await probes.during(seconds);
        waits[how].push(...probes.read());
      }
    }
    const { queued } = await queueCounts(fleet.server, 'long');
    if (queued === 0) throw new Error('the long queue was worked off; give it more (--tasks)');
    for (const [name, share] of [
      ['', 0.5],
      ['-p99', 0.99],
    ]) {
      const [value, floor] = [percentile(waits.beside, share), percentile(waits.alone, share)];
      yield {
        figure: `tasks-fair${name}`,
        value: Number(value.toFixed(2)),
        unit: 'ms',
        target: Number((floor * FACTOR).toFixed(2)),
        floor: Number(floor.toFixed(2)),
        ratio: Number((value / floor).toFixed(2)),
        waiting: tasks,
        left: queued,
        task_ms: TASK_MS,
        nodes,
        slots,
        probes: waits.beside.length,
        database: databaseOf(databaseUrl),
      };
    }
  } finally {
    probes.remove();
    await fleet.stop();
  }
}

/** Paused, it is alone once nodes have none of its tasks; else they have some. 0: it is so. */
async function unsettled(server, how) {
  const { claimed, running } = await queueCounts(server, 'long');
  return how === 'alone' ? claimed + running : Number(running === 0);
}
