import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, metrics, ORG, rounded, series } from './api.mjs';
import { cpuSeconds, sampling } from './proc.mjs';
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
      yield peak(
        'restart-peak-cpu',
        '% of a core',
        seen.map(({ cpu }) => cpu),
        details,
      );
      yield peak(
        'restart-peak-connections',
        'admitted a second',
        seen.map(({ admitted }) => admitted),
        details,
      );
      yield peak(
        'restart-peak-handshakes',
        'not admitted a second',
        seen.map(({ refused }) => refused),
        details,
      );
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
}

/** Each second: the share of a core, and the CURVE handshakes that were admitted and refused. */
function load(server) {
  let last = { cpu: cpuSeconds(server.pid), admitted: 0, refused: 0 };
  return sampling(SAMPLE_MS, async (seconds) => {
    const text = await metrics(server);
    const admitted = series(text, 'muster_zap_total', { result: 'admitted' });
    const refused = series(text, 'muster_zap_total') - admitted;
    const now = { cpu: cpuSeconds(server.pid), admitted, refused };
    const rate = (what) => (now[what] - last[what]) / seconds;
    const sample = { cpu: rate('cpu') * 100, admitted: rate('admitted'), refused: rate('refused') };
    last = now;
    return sample;
  });
}

function peak(figure, unit, samples, details) {
  const value = rounded(Math.max(0, ...samples));
  return { figure, value, unit, target: null, floor: null, ratio: null, ...details, samples: samples.map(rounded) };
}
