import { afterAll, beforeAll, expect, test } from 'vitest';
import { Cluster } from './support/cluster.js';
import { forgetPeak, peakMib, residentMib } from './support/memory.js';
import { neverHarmed } from './support/unharmed.js';

/** Ten commands write far more than is kept, all at once. MUSTER_TEST_FAULT_OUTPUT_MIB=1024 for 1 GiB each. */
const MIB = 1_048_576;
const WRITTEN = Number(process.env.MUSTER_TEST_FAULT_OUTPUT_MIB ?? 64) * MIB;
const AGENTS = 10;
const NAMES = Array.from({ length: AGENTS }, (_, n) => `node-${n}`);
/** `push.output_limit`, the default. */
const LIMIT = 10 * MIB;
/** docs/guarantees.md */
const AGENT_GROWTH_MIB = 96;
const SERVER_GROWTH_MIB = 384;
const PATIENCE_MS = 240_000;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start({ heartbeatInterval: 5 });
  const commands = { '/write (\\d+)/': 'head -c $1 /dev/zero', quick: 'true' };
  await cluster.startAgents(Object.fromEntries(NAMES.map((name) => [name, { commands }])));
});
neverHarmed(() => cluster);
afterAll(() => cluster.stop());

test(
  `${WRITTEN / MIB} MiB of output on ${AGENTS} nodes at once: the memory of agents and server is bounded, the beginning and the end are kept, the reader is told the rest`,
  async () => {
    const processes = [cluster.server, ...NAMES.map((name) => cluster.agent(name))];
    const before = processes.map(({ pid }) => residentMib(pid));
    for (const { pid } of processes) forgetPeak(pid);

    const begun = Date.now();
    const id = await cluster.startJob({ command: `write ${WRITTEN}`, nodes: NAMES, capture_output: true });
    const job = await cluster.jobEnds(id, PATIENCE_MS);
    const seconds = (Date.now() - begun) / 1000;
    expect([...(job.nodes.succeeded ?? [])].sort()).toEqual(NAMES);

    const [server = 0, ...agents] = processes.map(({ pid }, n) => peakMib(pid) - (before[n] ?? 0));
    const figures = { mib: WRITTEN / MIB, agents: AGENTS, seconds, server_before: before[0], server_growth: server };
    console.log(JSON.stringify({ ...figures, agent_before: before[1], agent_growth: Math.max(...agents) }));
    expect(server).toBeLessThan(SERVER_GROWTH_MIB);
    expect(Math.max(...agents)).toBeLessThan(AGENT_GROWTH_MIB);

    for (const name of NAMES) {
      const path = `pushy/jobs/${id}/output/${name}/stdout`;
      const { text, headers } = await cluster.api.get(path, { accept: 'application/octet-stream' });
      expect(text.length).toBeLessThanOrEqual(LIMIT);
      expect(text.length).toBeGreaterThan(LIMIT * 0.9);
      expect(Number(headers['x-muster-dropped-bytes'])).toBe(WRITTEN - text.length);
    }
    await cluster.available(...NAMES);
  },
  PATIENCE_MS + 60_000,
);
