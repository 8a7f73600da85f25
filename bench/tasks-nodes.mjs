import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, ORG, rounded } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { startServer } from './server.mjs';
import { adder, createQueue, databaseOf, linesOf, pause, perSecond, queueCounts, untilSucceeded } from './tasks.mjs';

export const about =
  'Tasks of 100 ms on N simulated nodes with four slots each, added at --rate a second for --seconds';
export const defaults = { nodes: 1000, slots: 4, rate: 10_000, seconds: 30 };

const RUN_MS = 100;
const ADD_EVERY_MS = 100;

/**
 * Added at an even rate, or as fast as the server takes them where that is less. The figure is the rate from the first that
 * is added until the last has succeeded; `waiting` tells how many were in the queue when the last was added.
 */
export async function* run({ nodes, slots, rate, seconds, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  let fleet;
  try {
    const tasks = { plugin: 'noop', slots, runMs: RUN_MS };
    fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin, tasks });
    await allAvailable(server, nodes);
    await createQueue(server, 'work', { threads: null });
    const lines = await adder(server);
    const count = rate * seconds;
    const used = cpuSeconds(server.pid);
    server.profile();
    const began = performance.now();
    await addEvenly(lines, rate, count);
    const added = performance.now() - began;
    const { queued } = await queueCounts(server, 'work');
    await untilSucceeded(server, count);
    const took = performance.now() - began;
    server.profile();
    yield {
      figure: 'tasks-nodes',
      value: perSecond(count, took),
      unit: 'tasks/s',
      target: rate,
      floor: null,
      ratio: null,
      nodes,
      slots,
      tasks: count,
      task_ms: RUN_MS,
      added: perSecond(count, added),
      waiting: queued,
      server_cores: rounded((cpuSeconds(server.pid) - used) / (took / 1000)),
      database: databaseOf(databaseUrl),
    };
  } finally {
    await fleet?.stop();
    await server.stop();
  }
}

async function addEvenly(lines, rate, count) {
  const began = performance.now();
  for (let from = 0; from < count; ) {
    const due = Math.min(count, Math.ceil(((performance.now() - began + ADD_EVERY_MS) * rate) / 1000));
    if (due > from) await lines.lines('work', linesOf(from, due - from, paramsOf));
    from = Math.max(from, due);
    await pause(Math.max(0, began + (from * 1000) / rate - ADD_EVERY_MS - performance.now()));
  }
}

const paramsOf = (n) => ({ n });
