import { bareExchange, startSimulatedNodes } from '@muster/sim';
import { allAvailable, ORG, pushJob, rounded } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { freePort, median, startServer } from './server.mjs';

export const about = 'POST of a push job to `complete` on N simulated nodes whose command does nothing (--nodes)';
export const defaults = { nodes: 1000, rounds: 5 };

/** docs/architecture: a command on 10,000 connected nodes takes at most 3 s beyond the command's own time. */
const TARGET_MS_PER_NODE = 3000 / 10_000;

/**
 * The time from POST to the server's `job_complete`, when every vote, start and end of every node is stored, beside the
 * floor of the same run: one signed request and reply per node over the same kind of sockets.
 */
export async function* run({ nodes, rounds, databaseUrl, profile }) {
  console.error(`push-noop: floor, ${nodes} nodes, ${rounds} rounds`);
  const { rounds: floors } = await bareExchange({ port: await freePort(), nodes, rounds });
  const server = await startServer({ databaseUrl, profile });
  try {
    console.error(`push-noop: connecting ${nodes} nodes`);
    const fleet = await startSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
    try {
      const times = [];
      await allAvailable(server, nodes);
      server.profile();
      for (let round = 0; round < rounds; round++) {
        await allAvailable(server, nodes);
        const cpu = cpuSeconds(server.pid);
        times.push(await pushJob(server, fleet.names));
        console.error(
          `push-noop: round ${round + 1}: ${times.at(-1).toFixed(0)} ms, server CPU ${(cpuSeconds(server.pid) - cpu).toFixed(2)} s`,
        );
      }
      server.profile();
      const [value, floor] = [median(times), median(floors)];
      yield {
        figure: 'push-noop',
        value: rounded(value),
        unit: 'ms',
        target: rounded(TARGET_MS_PER_NODE * nodes),
        floor: rounded(floor),
        ratio: rounded(value / floor),
        nodes,
        database: databaseUrl === undefined ? 'sqlite' : 'postgres',
        samples: times.map(rounded),
        floor_samples: floors.map(rounded),
      };
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
}
