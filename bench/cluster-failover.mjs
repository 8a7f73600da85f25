import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startAgents } from './agents.mjs';
import { allAvailable, call, ORG, pushJob, rounded } from './api.mjs';
import { createDatabase, freePort, MUSTER, median, until } from './server.mjs';

export const about =
  'The server that leads a cluster of three is killed: until another one has all nodes and ends what ran';
export const defaults = { nodes: 10, rounds: 5 };

const TARGET_MS = 20_000;
const DATABASE = 'postgres://postgres@127.0.0.1:5432/postgres';

/**
 * Three servers over one PostgreSQL behind a TCP balancer, with real agents and default times. A push job runs `sleep` on all of them when
 * the server that leads is killed with -9: `cluster-takeover` is until another one answers, `cluster-failover` until all nodes are connected to it and the job has ended,
 * which is at least what is left of the command (`floor`).
 */
export async function* run({ nodes, rounds, databaseUrl = DATABASE }) {
  const database = await createDatabase(databaseUrl);
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-cluster-'));
  const servers = [];
  const balancer = await balance(servers);
  let agents;
  try {
    for (const name of ['a', 'b', 'c']) servers.push(await member(name, dir, database.url));
    const first = await leader(servers);
    const admin = { name: 'admin', privateKey: readFileSync(join(dir, first.name, 'admin.pem'), 'utf8') };
    const behind = { url: balancer.url, admin };
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
    for (const server of servers) await server.stop();
    balancer.close();
    await database.drop();
    rmSync(dir, { recursive: true, force: true });
  }
}

async function member(name, dir, databaseUrl) {
  const data = join(dir, name);
  mkdirSync(data, { mode: 0o700 });
  if (name !== 'a') copyFileSync(join(dir, 'a', 'job-secrets.key'), join(data, 'job-secrets.key'));
  const [http, heartbeat, command] = [await freePort(), await freePort(), await freePort()];
  const args = [
    'server',
    '--cluster',
    '--name',
    name,
    '--data-dir',
    data,
    '--database-url',
    databaseUrl,
    '--log-level',
    'warn',
  ];
  args.push('--http', `127.0.0.1:${http}`, '--stomp', '127.0.0.1:0');
  args.push('--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`);
  const server = {
    name,
    port: http,
    child: undefined,
    async start() {
      server.child = spawn(process.execPath, [MUSTER, ...args], { stdio: ['ignore', 'ignore', 'inherit'] });
      await until(`${name} to answer`, async () => (await fetch(`http://127.0.0.1:${http}/_status`)).ok);
    },
    async stop() {
      if (server.child.exitCode !== null || server.child.signalCode !== null) return;
      const exited = once(server.child, 'exit');
      server.child.kill('SIGTERM');
      await exited;
    },
  };
  await server.start();
  if (name === 'a') await until('the first to lead', async () => (await roleOf(server)) === 'leader');
  return server;
}

async function roleOf({ port }) {
  const answer = await fetch(`http://127.0.0.1:${port}/_status`).catch(() => null);
  return answer === null ? null : (await answer.json()).cluster.role;
}

/** null: none leads, besides that one. */
async function leader(servers, besides) {
  for (const server of servers) if (server !== besides && (await roleOf(server)) === 'leader') return server;
  return null;
}

/** Followers know no nodes. */
async function leading(servers) {
  const { port } = await until('a server to lead', () => leader(servers));
  return { url: `http://127.0.0.1:${port}` };
}

/** Passes each connection on to the first server that takes it. */
async function balance(servers) {
  const server = createServer({ pauseOnConnect: true }, (socket) => pass(socket, [...servers]));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

function pass(socket, [first, ...rest]) {
  socket.on('error', () => socket.destroy());
  if (first === undefined) return void socket.destroy();
  const other = connect(first.port, '127.0.0.1');
  other.once('error', () => pass(socket, rest));
  other.once('connect', () => {
    other.removeAllListeners('error').on('error', () => socket.destroy());
    socket.on('close', () => other.destroy());
    other.on('close', () => socket.destroy());
    socket.pipe(other).pipe(socket);
  });
}
