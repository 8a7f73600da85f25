import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadConfig } from '@muster/platform/config';
import { createLogger } from '@muster/platform/upkeep';
import { type RunningServer, startServer } from '@muster/server';
import { createTestDatabase, type TestDatabase } from '../../packages/platform/test/support/database.js';
import { keysOfServer } from '../../packages/signing/test/support/made-keys.js';
import { ApiClient } from './api-client.js';
import { Chef2Node, type Chef2Options } from './chef2-client.js';
import { logs } from './logs.js';
import { giveKey } from './own-keys.js';
import { expectDone, sharedKey } from './personas.js';
import { freePorts } from './ports.js';
import { PushyServer } from './pushy-server.js';
import { until } from './until.js';
import { WHITELIST } from './whitelist.js';

/** Seconds; the acceptance suite recommends 1, the same cases hold faster. */
const HEARTBEAT_INTERVAL = 0.4;

/** What a server inside the test process has logged. */
class Log {
  readonly what = 'the server';
  readonly exit = null;
  log = '';

  write(text: string): void {
    this.log += text;
  }
}

/** A server inside the test process, and Push Jobs 2.0 nodes on real sockets with CURVE. */
export class Fleet extends PushyServer {
  readonly dir: string;
  readonly #database: TestDatabase;
  readonly #flags: Readonly<Record<string, string>>;
  readonly #nodes = new Set<Chef2Node>();
  readonly #log = new Log();
  readonly #newKey = keysOfServer();
  readonly #registered = new Set<string>();
  #server: RunningServer | undefined;
  #api: ApiClient | undefined;

  private constructor(dir: string, database: TestDatabase, flags: Readonly<Record<string, string>>) {
    super();
    this.dir = dir;
    this.#database = database;
    this.#flags = flags;
    logs(this.#log);
  }

  /** `flags` as on the command line, without the dashes. */
  static async start(flags: Readonly<Record<string, string>> = {}): Promise<Fleet> {
    const dir = mkdtempSync(join(tmpdir(), 'muster-fleet-'));
    const database = await createTestDatabase();
    const [http, heartbeat, command] = await freePorts(3);
    giveKey(join(dir, 'admin.pem'), 0);
    const fleet = new Fleet(dir, database, {
      'data-dir': dir,
      http: `127.0.0.1:${http}`,
      heartbeat: `tcp://127.0.0.1:${heartbeat}`,
      command: `tcp://127.0.0.1:${command}`,
      stomp: '127.0.0.1:0',
      'heartbeat-interval': String(HEARTBEAT_INTERVAL),
      'command-rehab-interval': String(HEARTBEAT_INTERVAL),
      ...(database.url === undefined ? {} : { 'database-url': database.url }),
      ...flags,
    });
    await fleet.#startServer();
    return fleet;
  }

  /** Signs as the first admin. */
  override get api(): ApiClient {
    if (this.#api === undefined) throw new Error('not started');
    return this.#api;
  }

  get heartbeatInterval(): number {
    return HEARTBEAT_INTERVAL;
  }

  async #startServer(): Promise<void> {
    const config = loadConfig({ env: {}, flags: this.#flags });
    const logger = createLogger(config.log_level, this.#log);
    this.#server = await startServer(config, {
      print: () => undefined,
      newKey: this.#newKey,
      logger,
    });
    const privateKey = readFileSync(join(this.dir, 'admin.pem'), 'utf8');
    this.#api = new ApiClient(this.#server.url, { name: 'admin', privateKey });
  }

  /** Stops the server as TERM does and starts it again on the same data and ports. */
  async restartServer(): Promise<void> {
    await this.#server?.stop();
    await this.#startServer();
  }

  /** Registers the node if it is new, starts its agent, and waits until it is available. */
  async node(name: string, options: Partial<Chef2Options> = {}): Promise<Chef2Node> {
    const node = await this.connect(name, options);
    await until(`${name} to be aborted out of rehab`, () => node.sentTypes().includes('aborted'));
    await this.available(name);
    return node;
  }

  /** As `node`, without waiting for the server to find it available. */
  async connect(name: string, options: Partial<Chef2Options> = {}): Promise<Chef2Node> {
    await this.register(name);
    const node = new Chef2Node({
      serverUrl: this.api.url,
      org: 'default',
      node: name,
      privateKey: sharedKey().privateKey,
      whitelist: WHITELIST,
      fileDir: join(this.dir, 'pushy'),
      ...options,
    });
    this.#nodes.add(node);
    await node.start();
    return node;
  }

  async register(name: string): Promise<void> {
    if (this.#registered.has(name)) return;
    expectDone(await this.api.post('nodes', { name, public_key: sharedKey().publicKey }));
    this.#registered.add(name);
  }

  /** Stops every node's agent, as the end of a test does. */
  stopNodes(): void {
    for (const node of this.#nodes) node.stop();
    this.#nodes.clear();
  }

  /** `node_fsm_count` of sheet §7.4. */
  async nodeCount(): Promise<number> {
    const status = (await this.api.call('GET', '/pushy/_status')).json as { node_fsm_count: number };
    return status.node_fsm_count;
  }

  async stop(): Promise<void> {
    this.forget();
    this.stopNodes();
    await this.#server?.stop();
    await this.#database.release();
    rmSync(this.dir, { recursive: true, force: true });
  }
}
