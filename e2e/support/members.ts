import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createTestDatabase } from '../../packages/platform/test/support/database.js';
import { ApiClient } from './api-client.js';
import { Cluster, HEARTBEAT_INTERVAL } from './cluster.js';
import { freePorts } from './ports.js';
import { PushyServer } from './pushy-server.js';
import { SilentNetwork } from './silent-network.js';
import type { StartedProcess } from './started-process.js';
import { until } from './until.js';

/** How one server of several answers `/_status`. */
export interface Said {
  readonly role: 'leader' | 'follower';
  readonly leader: string | null;
  readonly epoch: number;
}

const DEPOSED = 'this server does not lead any more';

/** One server of several over one database, besides that of the `Cluster`. */
export interface MemberProcess {
  readonly name: string;
  readonly url: string;
  process: StartedProcess;
  /** Again, after it has ended. */
  start: () => StartedProcess;
  readonly args: readonly string[];
  /** Between it and the database. */
  readonly network: SilentNetwork;
}

/** Starts a further server over the database of `cluster`, with the key for secrets of its first one, unless `keyless`. */
export class Members {
  readonly #cluster: Cluster;
  readonly #database: string;
  /** Seconds. */
  readonly #heartbeatInterval: number;
  readonly all: MemberProcess[];
  readonly #started: StartedProcess[];

  constructor(cluster: Cluster, database: string, first: string, network: SilentNetwork, heartbeatInterval: number) {
    this.#cluster = cluster;
    this.#heartbeatInterval = heartbeatInterval;
    this.#database = database;
    const start = (): StartedProcess => {
      cluster.relaunchServer();
      return cluster.server;
    };
    const { url, server, serverArgs: args } = cluster;
    this.all = [{ name: first, url, process: server, start, args, network }];
    this.#started = [cluster.server];
  }

  async add(name: string, { keyless = false } = {}): Promise<MemberProcess> {
    const dir = join(this.#cluster.dir, name);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    if (!keyless) copyFileSync(join(this.#cluster.dataDir, 'job-secrets.key'), join(dir, 'job-secrets.key'));
    const [http, heartbeat, command, stomp] = await freePorts(4);
    const network = await networkTo(this.#database);
    const args = [
      ...['server', '--cluster', '--name', name, '--data-dir', dir, '--database-url', through(network, this.#database)],
      ...['--http', `127.0.0.1:${http}`, '--stomp', `127.0.0.1:${stomp}`],
      ...['--heartbeat-interval', String(this.#heartbeatInterval)],
      ...['--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`],
      ...['--heartbeat-advertise', `tcp://127.0.0.1:${heartbeat}`, '--command-advertise', `tcp://127.0.0.1:${command}`],
    ];
    const start = (): StartedProcess => this.#cluster.launch(`server ${name}`, args, { MUSTER_CONFIG: undefined });
    const member = { name, url: `http://127.0.0.1:${http}`, process: start(), start, args, network };
    this.all.push(member);
    this.#started.push(member.process);
    return member;
  }

  /** A server that does not lead any more ends, and says so. No other ends by itself, and none answers 500. */
  harm(): readonly string[] {
    return this.#started.flatMap(({ what, exit, log }) => {
      const meant = exit === null || exit.signal === 'SIGKILL' || exit.code === 0 || log.includes(DEPOSED);
      return [
        ...(meant ? [] : [`${what} ended by itself (${exit.code ?? exit.signal}): ${log.slice(-4000)}`]),
        ...log.split('\n').filter((line) => line.includes('"msg":"request failed"')),
      ];
    });
  }

  async close(): Promise<void> {
    await this.#cluster.stop();
    await Promise.all(this.all.map(({ network }) => network.close()));
  }

  named(name: string): MemberProcess {
    const found = this.all.find((member) => member.name === name);
    if (found === undefined) throw new Error(`no server ${name}`);
    return found;
  }

  again(name: string): void {
    const member = this.named(name);
    member.process = member.start();
    this.#started.push(member.process);
  }

  /** As the supervisor of a machine would: what has ended, by itself or in a test that failed, is started again. */
  async supervise(): Promise<void> {
    for (const { name, process } of this.all) {
      process.signal('SIGCONT');
      if (process.exit !== null) this.again(name);
    }
    await this.leader();
  }

  /** Stops it in order and starts another build of it in its place, which it is from then on. */
  async replace(name: string, muster: string): Promise<void> {
    const member = this.named(name);
    await member.process.kill('SIGTERM');
    member.start = () =>
      this.#cluster.launchBuild(muster, `server ${name}, replaced`, member.args, { MUSTER_CONFIG: undefined });
    this.again(name);
  }

  /** The server that leads, once one says so whose process runs. */
  leader(besides?: string): Promise<MemberProcess> {
    let found: MemberProcess | undefined;
    return until('a server to lead', async () => {
      for (const member of this.all) {
        if (member.name === besides || member.process.exit !== null) continue;
        if ((await said(member.url))?.role === 'leader') found = member;
      }
      return found !== undefined;
    }).then(() => found as MemberProcess);
  }
}

/** null: it does not answer. */
export async function said(url: string): Promise<Said | null> {
  try {
    const answer = await fetch(`${url}/_status`, { signal: AbortSignal.timeout(2000) });
    return ((await answer.json()) as { readonly cluster: Said }).cluster;
  } catch {
    return null;
  }
}

/** Passes each connection on to the first of the servers that takes it, as balancers do. */
export class Balancer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly url: string;
  ports: readonly number[] = [];

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}`;
    server.on('connection', (socket) => this.#try(socket, 0));
  }

  static async open(): Promise<Balancer> {
    const [port = 0] = await freePorts(1);
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return new Balancer(server, port);
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #try(socket: Socket, index: number): void {
    const { [index]: port } = this.ports;
    socket.on('error', () => socket.destroy());
    if (port === undefined) return void socket.destroy();
    const other = connect(port, '127.0.0.1');
    this.#sockets.add(socket).add(other);
    const next = (): void => this.#try(socket, index + 1);
    other.once('error', next);
    other.once('connect', () => {
      other.off('error', next);
      other.on('error', () => socket.destroy());
      for (const one of [socket, other]) one.on('close', () => this.#sockets.delete(one));
      socket.on('close', () => other.destroy());
      other.on('close', () => socket.destroy());
      socket.pipe(other);
      other.pipe(socket);
      socket.resume();
    });
  }
}

/** What an admin sees who knows one address alone: of the balancer, or of one server. */
export class Behind extends PushyServer {
  readonly api: ApiClient;

  constructor(url: string, dataDir: string) {
    super();
    this.api = new ApiClient(url, { name: 'admin', privateKey: readFileSync(join(dataDir, 'admin.pem'), 'utf8') });
  }
}

async function networkTo(database: string): Promise<SilentNetwork> {
  const network = await SilentNetwork.open();
  network.leadTo(Number(new URL(database).port || 5432));
  return network;
}

function through({ port }: SilentNetwork, database: string): string {
  const url = new URL(database);
  url.host = `127.0.0.1:${port}`;
  return url.href;
}

/**
 * Servers a, b and c over one PostgreSQL, which take connections of nodes; agents and people reach them by the balancer.
 *
 * @param heartbeatInterval Seconds.
 */
export async function threeServers(heartbeatInterval = HEARTBEAT_INTERVAL): Promise<{
  readonly cluster: Cluster;
  readonly members: Members;
  readonly balancer: Balancer;
  readonly database: string;
}> {
  const made = await createTestDatabase();
  const database = made.url ?? '';
  const [balancer, network] = await Promise.all([Balancer.open(), networkTo(database)]);
  const cluster = await Cluster.start({
    database: { ...made, url: through(network, database) },
    flags: ['--cluster', '--name', 'a'],
    ...{ agentUrl: balancer.url, clientUrl: balancer.url },
    heartbeatInterval,
  });
  const members = new Members(cluster, database, 'a', network, heartbeatInterval);
  await members.leader();
  await until('its settings', () => existsSync(join(cluster.dataDir, 'muster.yaml')));
  for (const name of ['b', 'c']) await members.add(name);
  balancer.ports = members.all.map(({ url }) => Number(new URL(url).port));
  const linked = (): number => cluster.server.log.split('takes connections of nodes').length - 1;
  await until('both others to take connections of nodes', () => linked() === 2);
  return { cluster, members, balancer, database };
}
