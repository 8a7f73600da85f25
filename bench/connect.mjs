import { prepareSimulatedNodes } from '@muster/sim';
import { allAvailable, availableNodes, metric, ORG, rounded } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { startServer } from './server.mjs';

export const about = 'N nodes configure themselves, connect and are available; none is lost over --seconds (--nodes)';
export const defaults = { nodes: 10_000, seconds: 600 };

const TARGET_MS = 60_000;

/** Without a peer: its floor is the generator's own work, which the requests' signatures are no part of. */
export async function* run({ nodes, seconds, databaseUrl, profile }) {
  const server = await startServer({ databaseUrl, profile });
  try {
    const registering = performance.now();
    const fleet = await prepareSimulatedNodes({ server: server.url, org: ORG, count: nodes, admin: server.admin });
    console.error(`connect: registered and prepared in ${((performance.now() - registering) / 1000).toFixed(1)} s`);
    try {
      server.profile();
      const began = performance.now();
      const cpu = cpuSeconds(server.pid);
      const connecting = fleet.connect();
      await Promise.all([connecting, allAvailable(server, nodes)]);
      const took = performance.now() - began;
      server.profile();
      yield {
        figure: 'connect',
        value: rounded(took),
        unit: 'ms',
        target: TARGET_MS,
        floor: null,
        ratio: null,
        nodes,
        server_cpu_seconds: rounded(cpuSeconds(server.pid) - cpu),
        database: databaseUrl === undefined ? 'sqlite' : 'postgres',
      };
      yield await lost(server, nodes, seconds);
    } finally {
      await fleet.stop();
    }
  } finally {
    await server.stop();
  }
}

/** A node that went down for a moment shows as well: its row says since when it is up. */
async function lost(server, nodes, seconds) {
  const since = Date.now();
  let least = nodes;
  const before = await metric(server, 'muster_messages_received_total', { type: 'heartbeat' });
  while (Date.now() - since < seconds * 1000) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(5000, seconds * 1000)));
    least = Math.min(least, await availableNodes(server));
  }
  const heard = (await metric(server, 'muster_messages_received_total', { type: 'heartbeat' })) - before;
  return {
    figure: 'lost',
    value: nodes - least,
    unit: 'nodes',
    target: 0,
    floor: null,
    ratio: null,
    nodes,
    seconds,
    heartbeats: heard,
  };
}
