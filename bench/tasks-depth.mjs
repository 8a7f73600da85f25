import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, ORG } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { median, startServer } from './server.mjs';
import {
  adder,
  createQueue,
  databaseOf,
  perSecond,
  queueCounts,
  succeededTasks,
  tellQueue,
  untilSucceeded,
} from './tasks.mjs';

export const about = 'Assignments/s with N tasks waiting (--tasks), beside the same with ten thousand';
export const defaults = { tasks: 10_000_000, nodes: 4, slots: 100, rounds: 5 };

const SHALLOW = 10_000;
/** Fewer than wait, so that no node is ever without. */
const EACH_ROUND = 5000;
const TARGET = 0.8;

/** Two servers take turns, each with simulated nodes whose tasks end as soon as they begin; one has the long queue. */
export async function* run({ tasks, nodes, slots, rounds, databaseUrl, profile }) {
  const benches = [];
  try {
    for (const depth of [SHALLOW, tasks]) benches.push(await start({ depth, nodes, slots, databaseUrl, profile }));
    // The first round of each warms up.
    for (let round = 0; round <= rounds; round++) for (const bench of benches) await bench.round(round > 0);
    const [shallow, deep] = benches;
    yield {
      figure: 'tasks-depth',
      value: Math.round(median(deep.samples)),
      unit: 'assignments/s',
      target: Math.round(median(shallow.samples) * TARGET),
      floor: Math.round(median(shallow.samples)),
      ratio: Number((median(deep.samples) / median(shallow.samples)).toFixed(2)),
      waiting: tasks,
      floor_waiting: SHALLOW,
      nodes,
      slots,
      database: databaseOf(databaseUrl),
      server_cpu_us: deep.cpu.map(Math.round),
      floor_server_cpu_us: shallow.cpu.map(Math.round),
      samples: deep.samples,
      floor_samples: shallow.samples,
    };
  } finally {
    for (const { stop } of benches) await stop();
  }
}

async function start({ depth, nodes, slots, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  let fleet;
  const stop = async () => {
    await fleet?.stop();
    await server.stop();
  };
  try {
    const lines = await adder(server);
    await createQueue(server, 'work', { threads: null, state: 'paused' });
    console.error(`tasks-depth: adding ${depth} tasks`);
    await lines.add('work', depth, paramsOf);
    const tasks = { plugin: 'noop', slots, runMs: 0 };
    fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin, tasks });
    await allAvailable(server, nodes);
    const samples = [];
    const cpu = [];
    const round = async (counts) => {
      const before = await succeededTasks(server);
      const used = cpuSeconds(server.pid);
      if (counts) server.profile();
      const began = performance.now();
      await tellQueue(server, 'work', 'resume');
      await untilSucceeded(server, before + EACH_ROUND);
      const assigned = (await succeededTasks(server)) - before;
      const took = performance.now() - began;
      if (counts) {
        server.profile();
        samples.push(perSecond(assigned, took));
        cpu.push(((cpuSeconds(server.pid) - used) * 1e6) / assigned);
      }
      await tellQueue(server, 'work', 'pause');
      await refill();
    };
    const refill = async () => {
      const { queued, claimed, running } = await queueCounts(server, 'work');
      const missing = depth - queued - claimed - running;
      if (missing > 0) await lines.add('work', missing, paramsOf);
    };
    return { samples, cpu, round, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const paramsOf = (n) => ({ file: `/srv/images/${n}.png` });
