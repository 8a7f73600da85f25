import { startSimulatedNodes } from '@muster/sim';
import { allAvailable, call, ORG, pushJob, rounded } from './api.mjs';
import { openCluster } from './cluster.mjs';
import { cpuSeconds } from './proc.mjs';
import { median, until } from './server.mjs';

export const about =
  'POST of a push job to `complete` on N simulated nodes at one server, and at a cluster of two (--nodes)';
export const defaults = { nodes: 1000, rounds: 5 };

/**
 * The same fleet at one server over PostgreSQL and at two, of which one leads and has half of the nodes: times, and the processor time of each
 * server for each node of a job. What the leader needs for a node says how many it can have; what it needs less with a follower, how many more.
 */
export async function* run({ nodes, rounds, databaseUrl }) {
  const alone = await measured(['a'], { nodes, rounds, databaseUrl });
  const two = await measured(['a', 'b'], { nodes, rounds, databaseUrl });
  const common = { unit: 'ms', target: null, nodes };
  yield { figure: 'cluster-push-one', ...common, ...alone };
  yield { figure: 'cluster-push', ...common, ...two, ratio: rounded(two.value / alone.value) };
}

async function measured(names, { nodes, rounds, databaseUrl }) {
  const cluster = await openCluster(databaseUrl);
  try {
    for (const name of names) await cluster.add(name);
    const [first] = cluster.servers;
    const leader = { url: `http://127.0.0.1:${first.port}`, admin: cluster.behind.admin };
    // A follower that has just come has no link with the leader yet.
    await until('places for nodes everywhere', async () => {
      const { servers } = await (await call(leader, 'GET', '/cluster')).json();
      return servers.every((server) => server.nodes !== null);
    });
    const fleet = await startSimulatedNodes({ ...cluster.behind, server: cluster.behind.url, org: ORG, count: nodes });
    try {
      await allAvailable(leader, nodes);
      const times = [];
      const used = names.map(() => 0);
      for (let round = 0; round <= rounds; round++) {
        await allAvailable(leader, nodes);
        const before = cluster.servers.map(({ child }) => cpuSeconds(child.pid));
        const took = await pushJob(leader, fleet.names);
        // The first is for warming up.
        if (round === 0) continue;
        times.push(took);
        for (const [at, { child }] of cluster.servers.entries()) used[at] += cpuSeconds(child.pid) - before[at];
        console.error(`cluster-push: ${names.length} servers, round ${round}: ${took.toFixed(0)} ms`);
      }
      const cpu = used.map((seconds) => rounded((seconds * 1e6) / rounds / nodes));
      return { value: rounded(median(times)), samples: times.map(rounded), cpu_us_a_node: cpu };
    } finally {
      await fleet.stop();
    }
  } finally {
    await cluster.close();
  }
}
