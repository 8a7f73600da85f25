import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { EXIT } from '@muster/base';
import { run } from '../../packages/cli/src/run.js';
import { testWorld } from '../../packages/cli/test/support/world.js';
import { createTestDatabase, type TestDatabase } from '../../packages/platform/test/support/database.js';
import { ApiClient } from './api-client.js';
import { assertAsDeclared } from './documented-json.js';
import { giveKey, giveServerKeys } from './own-keys.js';
import { freePorts } from './ports.js';
import { PushyServer } from './pushy-server.js';
import { type Exit, killMarked, MARKER, parentOf, processesMarked, StartedProcess } from './started-process.js';
import { until } from './until.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const MUSTER = join(ROOT, 'packages/cli/bin/muster.js');

/** Seconds; small, so that down detection takes moments. */
export const HEARTBEAT_INTERVAL = 0.5;

/** A server that starts on a busy machine, below the time that a hook may take. */
const START_MS = 50_000;

/** The agent's own configuration file (decision N16). */
export interface AgentConfig {
  readonly commands?: Readonly<Record<string, unknown>>;
  readonly allow_any?: boolean;
  readonly labels?: Readonly<Record<string, string | number | boolean>>;
  readonly environment?: Readonly<Record<string, string>>;
  readonly [key: string]: unknown;
}

export interface ClusterOptions {
  /** Further flags of `muster server`. */
  readonly flags?: readonly string[];
  readonly heartbeatInterval?: number;
  /** Instead of the database that the run of the tests asks for. */
  readonly database?: TestDatabase;
  /** URL under which agents reach the server, when it is not its own. */
  readonly agentUrl?: string;
  /** URL under which people reach it, when it is not its own. */
  readonly clientUrl?: string;
  /** Disk for the server's data. */
  readonly disk?: (dir: string) => Promise<ServerDisk>;
}

/** Where the data of the server, or of an agent, is kept when that is not simply a directory. */
export interface ServerDisk {
  /** Words before the command line. */
  readonly through: readonly string[];
  readonly dir: string;
  /** The same directory as tests see it. */
  readonly seen: string;
}

export interface CliResult extends Exit {
  readonly stdout: string;
  readonly stderr: string;
  /** Parsed stdout; undefined when it is not one JSON document. */
  readonly json: unknown;
}

interface Made {
  readonly dir: string;
  readonly marker: string;
  /** HTTP, heartbeat, command, STOMP. */
  readonly ports: readonly number[];
  readonly database: TestDatabase;
  readonly disk: ServerDisk;
}

/** A server and agents as separate processes in a scratch directory. */
export class Cluster extends PushyServer {
  readonly dir: string;
  readonly dataDir: string;
  readonly url: string;
  /** HTTP, heartbeat, command, STOMP. */
  readonly ports: readonly number[];
  readonly agents = new Map<string, StartedProcess>();
  /** Of agents whose data is not simply in a directory. */
  readonly #agentDisks = new Map<string, ServerDisk>();
  server: StartedProcess;
  /** Every process of the server so far, and those that were told to end. */
  readonly #servers: StartedProcess[] = [];
  readonly #told = new Set<StartedProcess>();
  /** Harm of tests that have failed. */
  readonly #known = new Set<string>();
  /** Marks every process of this cluster. */
  readonly marker: string;
  readonly #database: TestDatabase;
  readonly #serverArgs: readonly string[];
  readonly #through: readonly string[];
  readonly #agentUrl: string;
  readonly #clientUrl: string | undefined;
  /** Of the command line, as the first admin. */
  #settings: string;
  #api: ApiClient | undefined;

  private constructor(made: Made, options: ClusterOptions) {
    super();
    const { dir, ports, database, disk } = made;
    const [http, heartbeat, command, stomp] = ports;
    this.dir = dir;
    this.marker = made.marker;
    this.dataDir = disk.seen;
    this.#settings = join(this.dataDir, 'muster.yaml');
    this.#through = disk.through;
    this.url = `http://127.0.0.1:${http}`;
    this.ports = ports;
    this.#agentUrl = options.agentUrl ?? this.url;
    this.#clientUrl = options.clientUrl;
    this.#database = database;
    this.#serverArgs = [
      ...['server', '--data-dir', disk.dir, '--http', `127.0.0.1:${http}`],
      ...['--heartbeat', `tcp://127.0.0.1:${heartbeat}`, '--command', `tcp://127.0.0.1:${command}`],
      ...[
        '--stomp',
        `127.0.0.1:${stomp}`,
        '--heartbeat-interval',
        String(options.heartbeatInterval ?? HEARTBEAT_INTERVAL),
      ],
      ...(database.url === undefined ? [] : ['--database-url', database.url]),
      ...(options.flags ?? []),
    ];
    this.server = this.#launchServer();
  }

  static async start(options: ClusterOptions = {}): Promise<Cluster> {
    const dir = mkdtempSync(join(tmpdir(), 'muster-e2e-'));
    const marker = randomBytes(8).toString('hex');
    const ports = await freePorts(4);
    const database = options.database ?? (await createTestDatabase());
    const data = join(dir, 'server');
    const disk = (await options.disk?.(data)) ?? { through: [], dir: data, seen: data };
    mkdirSync(disk.seen, { recursive: true, mode: 0o700 });
    giveServerKeys(disk.seen);
    const cluster = new Cluster({ dir, marker, ports, database, disk }, options);
    await cluster.#serving();
    if (options.disk !== undefined) cluster.#writeSettings();
    return cluster;
  }

  /** Signs as the first admin. */
  override get api(): ApiClient {
    this.#api ??= new ApiClient(this.#clientUrl ?? this.url, {
      name: 'admin',
      privateKey: readFileSync(join(this.dataDir, 'admin.pem'), 'utf8'),
    });
    return this.#api;
  }

  get serverArgs(): readonly string[] {
    return this.#serverArgs;
  }

  get environment(): NodeJS.ProcessEnv {
    const { PATH, HOME } = process.env;
    const reached = this.#clientUrl === undefined ? {} : { MUSTER_URL: this.#clientUrl };
    return { PATH, HOME, [MARKER]: this.marker, MUSTER_CONFIG: this.#settings, NO_COLOR: '1', ...reached };
  }

  /** The server's own settings file names the key as the server sees it. */
  #writeSettings(): void {
    this.#settings = join(this.dir, 'muster.yaml');
    const settings = { url: this.url, user: 'admin', key: join(this.dataDir, 'admin.pem') };
    writeFileSync(this.#settings, JSON.stringify(settings));
  }

  // --- the command line

  /** Starts `muster ARGS` and leaves it running. `through`: words before its command line. */
  launch(
    what: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    through: readonly string[] = [],
  ): StartedProcess {
    return this.launchBuild(MUSTER, what, args, env, through);
  }

  /** As `launch`, with the `muster` of another build. */
  launchBuild(
    muster: string,
    what: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv = {},
    through: readonly string[] = [],
  ): StartedProcess {
    const options = { cwd: this.dir, env: { ...this.environment, ...env } };
    const [program = process.execPath, ...rest] = [...through, process.execPath, muster, ...args];
    return new StartedProcess(what, program, rest, options);
  }

  /** Runs `muster ARGS` to its end, without a terminal. */
  async muster(...args: readonly string[]): Promise<CliResult> {
    const run = this.launch(`muster ${args.join(' ')}`, args);
    run.closeInput();
    const exit = await run.exited;
    if (args.includes('--json') && exit.code === 0) assertAsDeclared(args, run.stdout);
    return { ...exit, stdout: run.stdout, stderr: run.stderr, json: document(run.stdout) };
  }

  /**
   * `muster ARGS --json`, which must exit 0 and print one JSON document. Run in the process of the test, as it is what tests prepare and look
   * up with: a process for each takes a tenth of all their time.
   */
  async json<T>(...args: readonly string[]): Promise<T> {
    const world = testWorld({ env: this.environment, cwd: this.dir });
    world.pipe('');
    const words = withJson(args);
    const code = await run(words, world);
    const printed = document(world.out());
    if ((code !== EXIT.ok && code !== EXIT.asked) || printed === undefined) {
      throw new Error(`muster ${args.join(' ')}: exit ${code}\n${world.out()}\n${world.err()}`);
    }
    assertAsDeclared(words, world.out());
    return printed as T;
  }

  // --- the server

  async killServer(signal: NodeJS.Signals = 'SIGKILL'): Promise<Exit> {
    this.#told.add(this.server);
    return this.server.kill(signal);
  }

  /** What must never be seen of the server, whatever happens around it: that it ends by itself, and an answer 500. */
  harm(): readonly string[] {
    return this.#servers.flatMap((server) => {
      const { exit, log } = server;
      const ended = exit !== null && !this.#told.has(server);
      const all = [
        ...(ended ? [`the server ended by itself (${exit.code ?? exit.signal}): ${log.slice(-4000)}`] : []),
        ...log.split('\n').filter((line) => line.includes('"msg":"request failed"')),
      ];
      return all.filter((one) => !this.#known.has(one));
    });
  }

  /** Starts the server again on the same data directory and ports. */
  async restartServer(): Promise<void> {
    this.relaunchServer();
    await this.#serving();
  }

  /** As `restartServer`, without waiting for it to answer. */
  relaunchServer(): void {
    this.server = this.#launchServer();
  }

  #launchServer(): StartedProcess {
    mkdirSync(this.dataDir, { recursive: true });
    const { MUSTER_CONFIG: _, ...env } = this.environment;
    const [program = process.execPath, ...args] = [...this.#through, process.execPath, MUSTER, ...this.#serverArgs];
    const server = new StartedProcess('the server', program, args, { cwd: this.dir, env });
    this.#servers.push(server);
    return server;
  }

  async #serving(patienceMs = START_MS): Promise<void> {
    const { server } = this;
    const answered = until('the server to answer', async () => (await fetch(`${this.url}/_status`)).ok, patienceMs);
    const gone = server.exited.then(() => Promise.reject(new Error(`the server exited: ${server.log}`)));
    // Who loses the race is heard of no more.
    for (const loser of [answered, gone]) loser.catch(() => undefined);
    await Promise.race([answered, gone]);
  }

  // --- agents

  async enrolToken(uses: number): Promise<string> {
    const made = await this.json<{ token: string }>('token', 'create', '--uses', String(uses), '--ttl', '1h');
    return made.token;
  }

  agentDir(name: string): string {
    return join(this.dir, 'agents', name);
  }

  /** The directory of this agent is on that disk, which is there already. */
  placeAgent(name: string, disk: ServerDisk): void {
    this.#agentDisks.set(name, disk);
  }

  /** The directory of an agent as tests see it. */
  #seenAgentDir(name: string): string {
    return this.#agentDisks.get(name)?.seen ?? this.agentDir(name);
  }

  configureAgent(name: string, config: AgentConfig): string {
    mkdirSync(this.#seenAgentDir(name), { recursive: true });
    const file = join(this.#seenAgentDir(name), 'agent.json');
    // Commands get the mark of their cluster from the node's owner alone.
    const environment = { [MARKER]: this.marker, ...config.environment };
    writeFileSync(file, JSON.stringify({ ...config, environment }));
    return file;
  }

  /** Starts an agent, enrolling it when a token is given, and waits for nothing. */
  launchAgent(name: string, token?: string): StartedProcess {
    const dir = this.agentDir(name);
    if (token !== undefined) writeFileSync(join(this.#seenAgentDir(name), 'token'), token, { mode: 0o600 });
    const args = [
      ...['agent', '--server', this.#agentUrl, '--org', 'default', '--name', name],
      ...(token === undefined ? ['--key', join(dir, 'client.pem')] : ['--enroll-file', join(dir, 'token')]),
      ...['--data-dir', dir, '--config', join(dir, 'agent.json')],
    ];
    const agent = this.launch(`agent ${name}`, args, {}, this.#agentDisks.get(name)?.through);
    this.agents.set(name, agent);
    return agent;
  }

  /** Enrols and starts agents, and waits until all are available. */
  async startAgents(agents: Readonly<Record<string, AgentConfig>>): Promise<void> {
    const names = Object.keys(agents);
    const token = await this.enrolToken(names.length);
    for (const [name, config] of Object.entries(agents)) {
      this.configureAgent(name, config);
      giveKey(join(this.#seenAgentDir(name), 'client.pem'), this.agents.size + 1);
      this.launchAgent(name, token);
    }
    await this.available(...names);
  }

  /** Waits until these nodes are available; fails at once when the agent of one has exited. */
  override async available(...names: readonly string[]): Promise<void> {
    const exited = names.map((name) => this.agents.get(name)).find((agent) => agent?.exit);
    if (exited) throw new Error(`${exited.what} exited: ${exited.log}`);
    await super.available(...names);
  }

  /** Also thaws what the test has left frozen, and starts again what it has left killed. */
  override async settle(since: Date, end: number): Promise<void> {
    for (const harm of this.harm()) this.#known.add(harm);
    for (const process of [this.server, ...this.agents.values()]) process.signal('SIGCONT');
    if (this.server.exit !== null) this.relaunchServer();
    await this.#serving(end - Date.now());
    for (const [name, agent] of this.agents) if (agent.exit !== null && this.#enrolled(name)) this.launchAgent(name);
    await super.settle(since, end);
    const enrolled = [...this.agents.keys()].filter((name) => this.#enrolled(name));
    const free = (name: string) => this.nodeAvailable(name, end - Date.now());
    await Promise.all(enrolled.map(free));
  }

  #enrolled(name: string): boolean {
    return existsSync(join(this.#seenAgentDir(name), 'client.pem'));
  }

  agent(name: string): StartedProcess {
    const agent = this.agents.get(name);
    if (agent === undefined) throw new Error(`no agent ${name}`);
    return agent;
  }

  /** Commands of agents that are still running. */
  commands(): number[] {
    const own = new Set([this.server.pid, ...[...this.agents.values()].map((agent) => agent.pid)]);
    // What the server starts itself, such as the check of its database, is no command.
    return processesMarked(this.marker, this.dir).filter((pid) => !own.has(pid) && parentOf(pid) !== this.server.pid);
  }

  /** Kills everything that was started, commands included, and removes the scratch directory and database. */
  async stop(): Promise<void> {
    this.forget();
    this.#told.add(this.server);
    killMarked(this.marker, this.dir);
    await Promise.all([this.server.exited, ...[...this.agents.values()].map((agent) => agent.exited)]);
    await this.#database.release();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** `--json` belongs before `--`, after which everything is the node's command. */
function withJson(args: readonly string[]): string[] {
  const end = args.indexOf('--');
  return end < 0 ? [...args, '--json'] : [...args.slice(0, end), '--json', ...args.slice(end)];
}

function document(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
