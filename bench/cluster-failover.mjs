import { startAgents } from './agents.mjs';
import { allAvailable, call, ORG, pushJob, rounded } from './api.mjs';
import { leader, leading, openCluster } from './cluster.mjs';
import { median, until } from './server.mjs';

export const about =
  'The server that leads a cluster of three is killed: until another one has all nodes and ends what ran';
export const defaults = { nodes: 10, rounds: 5 };

const TARGET_MS = 20_000;

/**
 * Three servers over one PostgreSQL behind a TCP balancer, with real agents and default times. A push job runs `sleep` on all of them when
 * the server that leads is killed with -9: `cluster-takeover` is until another one answers, `cluster-failover` until all nodes are connected to it and the job has ended,
 * which is at least what is left of the command (`floor`).
 */
export async function* run({ nodes, rounds, databaseUrl }) {
  const cluster = await openCluster(databaseUrl);
  const { servers } = cluster;
  let agents;
  try {
    for (const name of ['a', 'b', 'c']) await cluster.add(name);
    const { behind } = cluster;
    agents = await startAgents(behind, nodes, undefined, { noop: 'true', wait: 'sleep 3' });
    await allAvailable(await leading(servers), nodes);
    const [takeovers, failovers] = [[], []];
    for (let round = 0; round < rounds; round++) {
      const before = await leader(servers);
      const started = await call(behind, 'POST', `/organizations/${ORG}/pushy/jobs`, {
        command: 'wait',
        nodes: agents.names,
      });
      const { id } = await started.json();
      const job = async () => (await call(behind, 'GET', `/organizations/${ORG}/pushy/jobs/${id}`)).json();
      await until('it to run', async () => (await job()).nodes?.running?.length === nodes);
      const killed = performance.now();
      before.child.kill('SIGKILL');
      await until('another to lead', async () => (await leader(servers, before)) !== null);
      takeovers.push(performance.now() - killed);
      await until('the job to end', async () => (await job()).status === 'complete');
      await allAvailable(await leading(servers), nodes);
      failovers.push(performance.now() - killed);
      await pushJob(behind, agents.names);
      await before.start();
      process.stderr.write(`round ${round + 1}: ${rounded(takeovers.at(-1))}, ${rounded(failovers.at(-1))} ms\n`);
    }
    yield {
      figure: 'cluster-takeover',
      value: rounded(median(takeovers)),
      unit: 'ms',
      target: null,
      samples: takeovers.map(rounded),
    };
    yield {
      figure: 'cluster-failover',
      ...{ value: rounded(median(failovers)), unit: 'ms', target: TARGET_MS, floor: 3000 },
      ...{ nodes, samples: failovers.map(rounded) },
    };
  } finally {
    await agents?.stop();
    await cluster.close();
  }
}
