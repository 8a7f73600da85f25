import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, metric, ORG, rounded } from './api.mjs';
import { cpuSeconds, residentMb } from './proc.mjs';
import { startServer } from './server.mjs';

export const about = 'CPU and memory of a server with N idle nodes that heartbeat every 15 s (--nodes, --seconds)';
export const defaults = { nodes: 10_000, seconds: 600 };

const TARGET_CPU_PERCENT = 15;
const TARGET_MB = 600;
const SETTLE_MS = 15_000;
/** Memory that goes on growing shows in the samples. */
const SAMPLE_MS = 60_000;

export async function* run({ nodes, seconds, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  try {
    const empty = residentMb(server.pid);
    const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
    try {
      await allAvailable(server, nodes);
      await sleep(SETTLE_MS);
      const heard = await heartbeats(server);
      server.profile();
      const [cpu, began] = [cpuSeconds(server.pid), performance.now()];
      const samples = [residentMb(server.pid)];
      for (let left = seconds * 1000; left > 0; left -= SAMPLE_MS) {
        await sleep(Math.min(left, SAMPLE_MS));
        samples.push(residentMb(server.pid));
      }
      const elapsed = (performance.now() - began) / 1000;
      const used = cpuSeconds(server.pid) - cpu;
      server.profile();
      const beats = (await heartbeats(server)) - heard;
      const details = { nodes, seconds: rounded(elapsed), heartbeats: beats };
      yield {
        figure: 'idle-cpu',
        value: rounded((used / elapsed) * 100),
        unit: '% of a core',
        target: TARGET_CPU_PERCENT,
        floor: null,
        ratio: null,
        ...details,
      };
      const resident = Math.max(...samples);
      yield {
        figure: 'idle-memory',
        value: rounded(resident),
        unit: 'MB',
        target: TARGET_MB,
        floor: rounded(empty),
        ratio: rounded(resident / empty),
        ...details,
        samples: samples.map(rounded),
      };
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
}

const heartbeats = (server) => metric(server, 'muster_messages_received_total', { type: 'heartbeat' });
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
