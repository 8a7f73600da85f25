import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDatabase, freePort, MUSTER, until } from './server.mjs';

const DATABASE = 'postgres://postgres@127.0.0.1:5432/postgres';

/** Servers over one PostgreSQL, in a database of its own, behind a TCP balancer (`behind`). The first that is added leads. */
export async function openCluster(databaseUrl = DATABASE) {
  const database = await createDatabase(databaseUrl);
  const dir = mkdtempSync(join(tmpdir(), 'muster-bench-cluster-'));
  const servers = [];
  const balancer = await balance(servers);
  return {
    servers,
    get behind() {
      const admin = { name: 'admin', privateKey: readFileSync(join(dir, servers[0].name, 'admin.pem'), 'utf8') };
      return { url: balancer.url, admin };
    },
    async add(name) {
      servers.push(await member(name, dir, database.url));
    },
    async close() {
      for (const server of servers.splice(0)) await server.stop();
      balancer.close();
      await database.drop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function member(name, dir, databaseUrl) {
  const data = join(dir, name);
  mkdirSync(data, { mode: 0o700 });
  if (name !== 'a') copyFileSync(join(dir, 'a', 'job-secrets.key'), join(data, 'job-secrets.key'));
  const [http, stomp, heartbeat, command] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const args = ['server', '--cluster', '--name', name, '--data-dir', data, '--database-url', databaseUrl];
  args.push('--log-level', 'warn');
  args.push('--http', `127.0.0.1:${http}`, '--stomp', `127.0.0.1:${stomp}`);
  args.push('--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`);
  const server = {
    name,
    port: http,
    stomp,
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
export async function leader(servers, besides) {
  for (const server of servers) if (server !== besides && (await roleOf(server)) === 'leader') return server;
  return null;
}

/** Followers know no nodes. */
export async function leading(servers) {
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
