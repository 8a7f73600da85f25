import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, metrics, ORG, rounded, series } from './api.mjs';
import { acceptedConnections, cpuSeconds } from './proc.mjs';
import { startServer } from './server.mjs';

export const about =
  'A server killed with -9 under N nodes: until all are available again, and how hard they come back';
export const defaults = { nodes: 10_000 };

const TARGET_MS = 60_000;
const SAMPLE_MS = 1000;
const PATIENCE_MS = 120_000;

export async function* run({ nodes, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  try {
    const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
    try {
      await allAvailable(server, nodes);
      const began = performance.now();
      await server.restart();
      const answered = performance.now() - began;
      server.profile();
      const seen = await load(server, nodes);
      server.profile();
      const took = performance.now() - began;
      const details = { nodes, database: databaseUrl === undefined ? 'sqlite' : 'postgres' };
      const floor = rounded(answered);
      yield {
        figure: 'restart',
        value: rounded(took),
        unit: 'ms',
        target: TARGET_MS,
        floor,
        ratio: rounded(took / answered),
        ...details,
      };
      for (const [figure, unit, what] of PEAKS) {
        const samples = seen.map((sample) => sample[what]);
        const value = rounded(Math.max(0, ...samples));
        yield {
          figure,
          value,
          unit,
          target: null,
          floor: null,
          ratio: null,
          ...details,
          samples: samples.map(rounded),
        };
      }
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
}

const PEAKS = [
  ['restart-peak-cpu', '% of a core', 'cpu'],
  ['restart-peak-connections', 'TCP connections accepted a second', 'accepted'],
  ['restart-peak-handshakes', 'CURVE keys admitted a second', 'admitted'],
];

/**
 * Until all nodes are available, each second: the share of a core, the TCP connections accepted (on the whole machine), and
 * the CURVE keys admitted. A connection that still has the old server's key ends before its own key is asked for.
 * The nodes are counted from the same answer, because `/metrics` with 10,000 of them costs the server much.
 */
async function load(server, nodes) {
  const samples = [];
  let last = { at: performance.now(), cpu: cpuSeconds(server.pid), accepted: acceptedConnections(), admitted: 0 };
  const end = last.at + PATIENCE_MS;
  while (performance.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
    const text = await metrics(server);
    const now = {
      at: performance.now(),
      cpu: cpuSeconds(server.pid),
      accepted: acceptedConnections(),
      admitted: series(text, 'muster_zap_total', { result: 'admitted' }),
    };
    const rate = (what) => ((now[what] - last[what]) * 1000) / (now.at - last.at);
    samples.push({ cpu: rate('cpu') * 100, accepted: rate('accepted'), admitted: rate('admitted') });
    last = now;
    if (series(text, 'muster_nodes', { status: 'up', owner: 'idle' }) === nodes) return samples;
  }
  throw new Error(`${nodes} nodes were not available again within ${PATIENCE_MS} ms`);
}
