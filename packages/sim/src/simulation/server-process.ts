import { randomUUID } from 'node:crypto';
import {
  createEvents,
  createNodes,
  createPushController,
  type Events,
  Metrics,
  type NodeLog,
  type Nodes,
  Outbox,
  type Peer,
  type PushControllerService,
  PushFeeds,
  type ServerConfig,
  type StartJob,
  type Transport,
} from '@muster/server';
import type { MemoryDatabase, Store } from '@muster/store';
import { type DiskConditions, FaultyLane } from './faulty-lane.js';
import { SERVER_KEYS } from './keys.js';
import type { Ledger } from './ledger.js';
import type { Network, ServerSide } from './network.js';
import type { Random } from './random.js';
import { Process, type Timeline } from './timeline.js';
import type { Trace } from './trace.js';
import { Violation } from './violation.js';

export interface ServerWorld {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly database: MemoryDatabase;
  readonly disk: DiskConditions;
  readonly config: ServerConfig;
  readonly skewMs: number;
  /** A rule was broken where nobody may throw. */
  readonly report: (violation: Violation) => void;
}

let keys = 0;

/** One life of the server: the shipped layers, put together as `server.ts` does, on the simulated machine. */
export class ServerProcess {
  readonly process: Process;
  readonly events: Events;
  readonly nodes: Nodes;
  readonly push: PushControllerService;
  /** Everything is loaded and the sockets are open. */
  ready = false;
  readyAt = 0;
  readonly #world: ServerWorld;
  readonly #store: Store;
  readonly #feeds: PushFeeds;
  #side: ServerSide | null = null;
  #stopping = false;

  constructor(world: ServerWorld) {
    this.#world = world;
    const { timeline, config, ledger } = world;
    this.process = new Process('server', timeline);
    this.process.skewMs = world.skewMs;
    const { clock } = this.process;
    const log = this.#log();
    const { process } = this;
    const { random } = world;
    ledger.reset();
    const store = world.database.connect({ clock, log }, (lane) => {
      const around = { conditions: world.disk, timeline, process, random };
      return new FaultyLane(lane, around, (batch) => ledger.stored(batch, clock.now()));
    });
    this.#store = ledger.watch(
      store,
      () => clock.now(),
      () => process.alive,
    );
    const incarnation = randomUUID();
    this.events = createEvents({
      store: this.#store,
      clock,
      logger: log,
      config,
      // Nobody reads or appends as clients of the fabric do.
      organizationId: async () => undefined,
    });
    const { recorder } = this.events;
    this.nodes = createNodes({
      store: this.#store,
      recorder,
      clock,
      logger: log,
      metrics: new Metrics(),
      config,
      serverName: 'sim',
      incarnation,
      serverKeys: SERVER_KEYS,
      removeIdentity: async () => undefined,
      transport: this.#transport(),
    });
    const retentionSeconds = config.push.org_feed_history;
    this.#feeds = new PushFeeds({ read: store.read, recorder, clock, retentionSeconds });
    this.push = createPushController({
      store: this.#store,
      recorder,
      clock,
      logger: log,
      nodes: this.nodes.registry,
      feed: this.#feeds,
      counts: { jobEnded: () => undefined, jobNodeEnded: () => undefined },
      config,
      incarnation,
    });
  }

  async start(): Promise<void> {
    await this.events.load();
    this.events.start();
    await this.nodes.load();
    await this.#feeds.load();
    await this.push.load();
    await this.nodes.start();
    if (!this.process.alive) return;
    this.#world.ledger.started = true;
    this.readyAt = this.#world.timeline.now;
    this.ready = true;
  }

  /** SIGTERM, as `server.ts` does it. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.ready = false;
    this.#feeds.close();
    await this.push.stop();
    await this.nodes.stop();
    await this.events.stop();
    await this.#store.close();
  }

  /** SIGKILL. */
  kill(): void {
    this.ready = false;
    this.process.die();
    if (this.#side !== null) this.#world.network.unlisten(this.#side);
  }

  startJob(input: StartJob): Promise<void> {
    return this.push.start(input);
  }

  #transport(): Transport {
    const { network, trace } = this.#world;
    const { process } = this;
    let outbox: Outbox | null = null;
    return {
      start: async (handlers) => {
        const side: ServerSide = { process, handlers, key: String(++keys).padStart(40, '0') };
        this.#side = side;
        const socket = {
          send: async ([identity, ...frames]: Uint8Array[]): Promise<void> => {
            if (identity !== undefined && process.alive) network.toNode(side, identity, frames);
          },
        };
        outbox = new Outbox(socket, (cause) => {
          trace.say(() => `server: not sent, ${cause}`);
          handlers.sendDropped(cause);
        });
        network.listen(side);
        return { heartbeat: 'tcp://sim:10000', command: 'tcp://sim:10001', curvePublicKey: side.key, plain: null };
      },
      send: (peer: Peer, seal) => {
        if (process.alive) outbox?.push(peer.identity, seal);
      },
      publish: (_channel, frames) => {
        if (process.alive) network.publish(frames);
      },
      stop: async () => {
        outbox?.close();
        if (this.#side !== null) network.unlisten(this.#side);
      },
    };
  }

  /** What the shipped code logs as its own fault is one. */
  #log(): NodeLog {
    const { trace, report } = this.#world;
    const say = (details: object, message: string): void =>
      trace.say(() => `server: ${message} ${brief(details)}`.trimEnd());
    return {
      debug: say,
      info: say,
      warn: (details, message) => {
        say(details, message);
        if (BROKEN.some((text) => message.includes(text))) {
          report(new Violation('logged', `${message} ${brief(details)}`));
        }
      },
      error: (details, message) => {
        say(details, message);
        if (!this.#stopping) report(new Violation('logged', `${message} ${brief(details)}`));
      },
    };
  }
}

/** Warnings that only a defect can cause. */
const BROKEN = ['invariant broken', 'a message could not be handled'];

export function brief(details: object): string {
  const words: string[] = [];
  for (const [name, value] of Object.entries(details)) {
    if (name === 'org' || value === null) continue;
    if (value instanceof Error) words.push(value.stack ?? value.message);
    else words.push(`${name}=${String(value)}`);
  }
  return words.join(' ');
}
