import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManualClock, systemClock } from '@muster/base';
import type { Identity, Organization } from '@muster/platform/auth';
import { systemRandom } from '@muster/platform/auth';
import { type ServerConfig, ServerConfigSchema } from '@muster/platform/config';
import type { Base } from '@muster/platform/layers';
import type { Recorder } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import type { LayerLog } from '@muster/platform/upkeep';
import { firstServerKey, type KeyPair } from '@muster/signing';
import { open, type Store, type Write } from '@muster/store';
import {
  type AgentMessage,
  type CommandResult,
  type Dialect,
  decryptSessionKey,
  dialects,
  type Frames,
  type ServerMessage,
  type Session,
} from '@muster/wire';
import { Value } from 'typebox/value';
import { vi } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../../platform/test/support/database.js';
import { MIGRATIONS } from '../../../platform/test/support/migrations.js';
import { openRecorder } from '../../../platform/test/support/recorder.js';
import { madeKey } from '../../../signing/test/support/made-keys.js';
import { KnownNode } from '../../src/known-node.js';
import { createNodes, type Nodes } from '../../src/layer.js';
import type { Channel, Handlers, Transport } from '../../src/transport.js';
import type { NodeListener, NodeMessage, NodeReport, NodeView, RestartEnd } from '../../src/types.js';

/** The nodes layer on a real store, with the network in memory and a clock that stands still. */

export const ORG: Organization = { id: 'a'.repeat(32), name: 'acme' };
export const INTERVAL = 1000;

export function nodesConfig(changes: (config: ServerConfig) => void = () => undefined): ServerConfig {
  const config = Value.Parse(ServerConfigSchema, Value.Default(ServerConfigSchema, {}));
  config.heartbeat.interval = INTERVAL / 1000;
  changes(config);
  return config;
}

export class MemoryTransport implements Transport {
  handlers: Handlers | null = null;
  readonly published: Frames[] = [];
  readonly inboxes = new Map<string, (frames: Frames) => void>();

  async start(handlers: Handlers) {
    this.handlers = handlers;
    return {
      heartbeat: 'tcp://127.0.0.1:10000',
      command: 'tcp://127.0.0.1:10001',
      curvePublicKey: 'x'.repeat(40),
      plain: null,
    };
  }

  send(peer: { identity: Uint8Array }, seal: () => Frames | null): void {
    const frames = seal();
    if (frames !== null) this.inboxes.get(Buffer.from(peer.identity).toString('hex'))?.(frames);
  }

  publish(_channel: Channel, frames: Frames): void {
    this.published.push(frames);
  }

  readonly hungUp: string[] = [];
  hangUp({ identity }: { identity: Uint8Array }): void {
    this.hungUp.push(Buffer.from(identity).toString('hex'));
  }

  receive(...frames: Uint8Array[]): void {
    this.handlers?.received('curve', frames);
  }

  async stop(): Promise<void> {
    this.handlers = null;
  }
}

/** What a layer above was told, as text. */
export class RecordingListener implements Partial<NodeListener> {
  readonly told: string[] = [];
  up(node: NodeView): void {
    this.told.push(`${node.name} up`);
  }
  down(node: NodeView): void {
    this.told.push(`${node.name} down`);
  }
  restarted(node: NodeView, end: RestartEnd): void {
    this.told.push(`${node.name} restarted ${end}`);
  }
  heartbeat(node: NodeView, { jobId }: NodeReport): void {
    this.told.push(`${node.name} heartbeat ${jobId}`);
  }
  message(node: NodeView, { type }: NodeMessage): void {
    this.told.push(`${node.name} ${type}`);
  }
  reconnected(node: NodeView): void {
    this.told.push(`${node.name} reconnected`);
  }
  kept(node: NodeView): void {
    this.told.push(`${node.name} kept`);
  }
  removed(node: NodeView): void {
    this.told.push(`${node.name} removed`);
  }
}

export interface Fixture {
  readonly clock: ManualClock;
  readonly transport: MemoryTransport;
  readonly store: Store;
  readonly recorder: Recorder;
  readonly nodes: Nodes;
  readonly listener: RecordingListener;
  readonly metrics: Metrics;
  readonly logged: { level: string; details: object; message: string }[];
  agent(name: string, options?: { dialect?: Dialect; key?: number }): Promise<TestAgent>;
  /** Everything handed to the store so far is durable, and its effects have left. */
  stored(): Promise<void>;
  count(metric: string, labels?: Record<string, string>): Promise<number>;
  /** The same after this one was killed: it leaves no word of how it left the nodes. */
  crash(before?: Before): Promise<Fixture>;
  /** Another server process on the same database. */
  restart(before?: Before): Promise<Fixture>;
  /** Commits with such a write wait until the function that is returned is called. */
  hold(which: (write: Write) => boolean): () => void;
  close(): Promise<void>;
}

/** What a layer above is made from. */
export interface Parts {
  readonly nodes: Nodes;
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: ManualClock;
  readonly metrics: Metrics;
  readonly logger: LayerLog;
  readonly config: ServerConfig;
}

/** Called when the nodes are loaded, before the sockets are open. */
export type Before = (parts: Parts) => void | Promise<void>;

export interface FixtureOptions {
  readonly config?: ServerConfig;
  readonly data?: TestData;
  readonly clock?: ManualClock;
  readonly before?: Before;
  /** Whether nodes have a key; they have unless it says otherwise. */
  readonly signs?: () => boolean;
}

export interface TestData {
  readonly store: Store;
  /** The store of the next server process on the same data. */
  reopen(): Promise<TestData>;
  close(): Promise<void>;
}

/** A database with one organization and nothing else: SQLite, or PostgreSQL when the suite runs on it. */
export async function createTestData(): Promise<TestData> {
  const directory = await mkdtemp(join(tmpdir(), 'muster-nodes-'));
  const database = await createTestDatabase();
  const data = await openTestData(directory, database);
  await data.store.transact(async (trx) => {
    await trx
      .insertInto('organizations')
      .values({ ...ORG, created_at: 0 })
      .execute();
  });
  return data;
}

async function openTestData(directory: string, database: TestDatabase): Promise<TestData> {
  const { url } = database;
  const store = await open(
    url === undefined ? { kind: 'sqlite', path: join(directory, 'muster.db') } : { kind: 'postgres', url },
    { clock: systemClock, migrations: MIGRATIONS },
  );
  return {
    store,
    async reopen() {
      await store.close();
      return openTestData(directory, database);
    },
    async close() {
      await store.close();
      await database.release();
      await rm(directory, { recursive: true });
    },
  };
}

export async function startNodes(options: FixtureOptions = {}): Promise<Fixture> {
  const data = options.data ?? (await createTestData());
  const { store, stored, hold } = watched(data.store);
  const clock = options.clock ?? new ManualClock();
  const transport = new MemoryTransport();
  const metrics = new Metrics();
  const logged: Fixture['logged'] = [];
  const log = (level: string) => (details: object, message: string) => void logged.push({ level, details, message });
  const recorder = await openRecorder(store, clock, (error) => {
    logged.push({ level: 'error', details: { err: error }, message: 'somebody who was told of events failed' });
  });
  const logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  const config = options.config ?? nodesConfig();
  const base: Base = {
    store,
    recorder,
    clock,
    random: systemRandom,
    metrics,
    logger,
    config,
    serverName: 'muster.test',
    incarnation: 'server-1',
  };
  const nodes = createNodes(base, {
    transport,
    serverKeys: firstServerKey(madeKey(0)),
    removeIdentity: async () => undefined,
    signs: async () => options.signs?.() ?? true,
  });
  const listener = new RecordingListener();
  nodes.registry.listen(listener);
  await nodes.load();
  await options.before?.({ nodes, store, recorder, clock, metrics, logger, config });
  await nodes.start();

  const fixture: Fixture = {
    clock,
    transport,
    store,
    recorder,
    nodes,
    listener,
    metrics,
    logged,
    stored,
    hold,
    agent: async (name, { dialect = 'native', key = 1 } = {}) => new TestAgent(fixture, name, dialect, madeKey(key)),
    async count(metric, labels = {}) {
      const found = await metrics.registry.getSingleMetric(metric)?.get();
      return (found?.values ?? [])
        .filter((value) => Object.entries(labels).every(([label, text]) => value.labels[label] === text))
        .reduce((sum, value) => sum + value.value, 0);
    },
    async crash(before) {
      await stored();
      vi.spyOn(store, 'transact').mockRejectedValueOnce(new Error('killed'));
      await nodes.stop();
      return startNodes({ ...options, data: await data.reopen(), clock, ...(before !== undefined && { before }) });
    },
    async restart(before) {
      await stored();
      await nodes.stop();
      return startNodes({ ...options, data: await data.reopen(), clock, ...(before !== undefined && { before }) });
    },
    async close() {
      await nodes.stop();
      await data.close();
    },
  };
  return fixture;
}

function watched(inner: Store): { store: Store; stored: () => Promise<void>; hold: Fixture['hold'] } {
  let pending: Promise<void>[] = [];
  let held: { readonly which: (write: Write) => boolean; readonly released: Promise<void> } | null = null;
  const store: Store = {
    kind: inner.kind,
    read: inner.read,
    commit: (writes) => inner.commit(writes),
    persist(writes) {
      if (held !== null && writes.some(held.which)) return held.released.then(() => inner.persist(writes));
      const done = inner.persist(writes);
      pending.push(done.catch(() => undefined));
      return done;
    },
    transact: (work) => inner.transact(work),
    health: () => inner.health(),
    hints: inner.hints,
    close: () => inner.close(),
  };
  const stored = async (): Promise<void> => {
    while (pending.length > 0) {
      const waiting = pending;
      pending = [];
      await Promise.all(waiting);
      // Effects run in the promises' own continuations.
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  };
  const hold = (which: (write: Write) => boolean): (() => void) => {
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    held = { which, released };
    return release;
  };
  return { store, stored, hold };
}

let connections = 0;

/** The node's end of the wire, driven by hand. */
export class TestAgent {
  readonly name: string;
  readonly dialect: Dialect;
  readonly inbox: ServerMessage[] = [];
  session: Session = { key: new Uint8Array(32), sent: 0, received: 0 };
  incarnation = 'incarnation-1';
  identity: Buffer = Buffer.alloc(5);
  /** Frames of the last message sent. */
  last: Frames = [new Uint8Array(), new Uint8Array()];
  readonly #fixture: Fixture;
  readonly #keys: KeyPair;

  constructor(fixture: Fixture, name: string, dialect: Dialect, keys: KeyPair) {
    this.#fixture = fixture;
    this.name = name;
    this.dialect = dialect;
    this.#keys = keys;
    this.connect();
  }

  connect(): void {
    connections += 1;
    const identity = Buffer.alloc(5);
    identity.writeUInt32BE(connections, 1);
    this.identity = identity;
    this.#fixture.transport.inboxes.set(identity.toString('hex'), (frames) => {
      const limits = { now: this.#fixture.clock.now(), maxSkewMs: 300_000 };
      this.inbox.push(dialects[this.dialect].openServer(frames[0], frames[1], this.session, limits));
    });
  }

  configure(curveKey: Uint8Array = Buffer.alloc(32, this.name)): void {
    const caller: Identity = {
      principalId: this.name,
      type: 'node',
      name: this.name,
      serverAdmin: false,
      publicKey: this.#keys.publicKey,
    };
    const version = this.dialect === 'native' ? '3.0' : '2.0';
    const answer = this.#fixture.nodes.configure({ org: ORG, node: this.name, caller, curveKey, version });
    const key = decryptSessionKey(answer.encoded_session_key.key, this.#keys.privateKey);
    this.session = { key, sent: 0, received: 0 };
  }

  send(message: AgentMessage, now = this.#fixture.clock.now()): void {
    const about = { org: ORG.name, node: this.name, incarnation: this.incarnation, now };
    const frames = dialects[this.dialect].encodeAgent(message, about, this.session);
    if (frames === null) throw new Error(`${this.dialect} has no ${message.type}`);
    this.last = frames;
    this.#fixture.transport.receive(this.identity, ...frames);
  }

  beat(jobId: string | null = null, last: CommandResult | null = null): void {
    this.send({ type: 'heartbeat', state: jobId === null ? 'ready' : 'running', jobId, last });
  }

  settle(): void {
    this.send({ type: 'aborted', jobId: null, from: 'ready', settled: true });
  }

  /** Configured and heard. */
  async comeUp(): Promise<void> {
    this.configure();
    this.beat();
    await this.#fixture.stored();
    this.inbox.length = 0;
  }

  /** Up, and out of rehab. */
  async becomeIdle(): Promise<void> {
    await this.comeUp();
    this.settle();
    await this.#fixture.stored();
    this.inbox.length = 0;
  }

  get view() {
    const view = this.#fixture.nodes.registry.get(ORG.id, this.name);
    if (!(view instanceof KnownNode)) throw new Error(`${this.name} is not known`);
    return view;
  }

  get heard(): string[] {
    return this.inbox.map((message) => message.type);
  }
}
