import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, metrics, ORG, rounded, series } from './api.mjs';
import { acceptedConnections, cpuSeconds, sampling } from './proc.mjs';
import { startServer } from './server.mjs';

export const about =
  'A server killed with -9 under N nodes: until all are available again, and how hard they come back';
export const defaults = { nodes: 10_000 };

const TARGET_MS = 60_000;
const SAMPLE_MS = 1000;

export async function* run({ nodes, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  try {
    const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
    try {
      await allAvailable(server, nodes);
      const began = performance.now();
      await server.restart();
      const answered = performance.now() - began;
      const samples = load(server);
      await allAvailable(server, nodes);
      const took = performance.now() - began;
      const seen = samples();
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
 * Each second: the share of a core, the TCP connections accepted (on the whole machine), and the CURVE keys admitted. A
 * connection that still has the old server's key ends before its own key is asked for.
 */
function load(server) {
  const read = async () => ({
    cpu: cpuSeconds(server.pid) * 100,
    accepted: acceptedConnections(),
    admitted: series(await metrics(server), 'muster_zap_total', { result: 'admitted' }),
  });
  let last = { cpu: cpuSeconds(server.pid) * 100, accepted: acceptedConnections(), admitted: 0 };
  return sampling(SAMPLE_MS, async (seconds) => {
    const now = await read();
    const rate = (what) => (now[what] - last[what]) / seconds;
    const sample = { cpu: rate('cpu'), accepted: rate('accepted'), admitted: rate('admitted') };
    last = now;
    return sample;
  });
}
