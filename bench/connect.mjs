import { bareExchange, prepareSimulatedNodes } from '@muster/sim';
import { allAvailable, availableNodes, call, metric, ORG, rounded } from './api.mjs';
import { cpuSeconds } from './proc.mjs';
import { freePort, startServer } from './server.mjs';

export const about = 'N nodes configure themselves, connect and are available; none is lost over --seconds (--nodes)';
export const defaults = { nodes: 10_000, seconds: 600 };

const TARGET_MS = 60_000;
const LOOK_EVERY_MS = 5000;
/** Times of nodes are rounded to seconds. */
const NOW_MS = 1000;

/** The floor connects as many bare CURVE sockets and waits for one signed message from each. */
export async function* run({ nodes, seconds, databaseUrl, profile }) {
  const { connected: floor } = await bareExchange({ port: await freePort(), nodes, rounds: 0 });
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
        floor: rounded(floor),
        ratio: rounded(took / floor),
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

/** Nodes that were not available at some moment; one that was not between two looks shows by when it changed last. */
async function lost(server, nodes, seconds) {
  const since = Date.now();
  let least = nodes;
  const before = await heartbeats(server);
  while (Date.now() - since < seconds * 1000) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    least = Math.min(least, await availableNodes(server));
  }
  const heard = (await heartbeats(server)) - before;
  const states = await (await call(server, 'GET', `/organizations/${ORG}/pushy/node_states`)).json();
  const changed = states.filter(({ owner_since: at }) => Date.parse(at) > since + NOW_MS).length;
  return {
    figure: 'lost',
    value: Math.max(nodes - least, changed),
    unit: 'nodes',
    target: 0,
    floor: null,
    ratio: null,
    nodes,
    seconds,
    heartbeats: heard,
  };
}

const heartbeats = (server) => metric(server, 'muster_messages_received_total', { type: 'heartbeat' });
