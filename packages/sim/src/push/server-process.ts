import { randomUUID } from 'node:crypto';
import { LoopTurn } from '@muster/base';
import { type Handlers, type Nodes, Outbox, type Peer, type Transport } from '@muster/nodes';
import { systemRandom } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import { Layers } from '@muster/platform/layers';
import type { Events } from '@muster/platform/log';
import { Metrics } from '@muster/platform/metrics';
import { SealingKey } from '@muster/platform/secrets';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Ownership, PushController, StartPushJob } from '@muster/push';
import { compose } from '@muster/server/compose';
import type { MemoryDatabase, Store } from '@muster/store';
import type { Frames } from '@muster/wire';
import { brief } from '../kernel/brief.js';
import { type DiskConditions, FaultyLane } from '../kernel/faulty-lane.js';
import { SERVER_KEY } from '../kernel/keys.js';
import type { Random } from '../kernel/random.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import type { Network } from '../kernel/zeromq/network.js';
import type { ServerSide } from '../kernel/zeromq/sides.js';
import { Decisions } from './decisions.js';
import type { Ledger } from './ledger.js';
import type { ServerPlan } from './scenario.js';

export interface ServerWorld {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger: Ledger;
  readonly database: MemoryDatabase;
  readonly disk: DiskConditions;
  readonly config: ServerConfig;
  readonly plan: ServerPlan;
  readonly skewMs: number;
  /** A rule was broken where nobody may throw. */
  readonly report: (violation: Violation) => void;
}

let keys = 0;

/** One life of a server: the shipped layers, put together as `server.ts` does, on the simulated machine. */
export class ServerProcess {
  readonly process: Process;
  readonly events: Events;
  readonly nodes: Nodes;
  readonly owners: Ownership;
  readonly push: PushController;
  readonly decisions: Decisions;
  /** Everything is loaded and the sockets are open. */
  ready = false;
  readyAt = 0;
  readonly #world: ServerWorld;
  readonly #store: Store;
  readonly #layers: Layers;
  #side: ServerSide | null = null;
  #stopping = false;

  constructor(world: ServerWorld) {
    this.#world = world;
    const { timeline, config, ledger, plan } = world;
    this.process = new Process(plan.name, timeline);
    this.process.skewMs = world.skewMs;
    const { clock } = this.process;
    const log = this.#log();
    const { process } = this;
    const { random } = world;
    const decisions = new Decisions(ledger);
    this.decisions = decisions;
    const store = world.database.connect({ clock, log }, (lane) => {
      const around = { conditions: world.disk, timeline, process, random, reach: ledger.reach };
      return new FaultyLane(lane, around, (batch, first) => decisions.stored(batch, first, clock.now()));
    });
    this.#store = decisions.watch(
      store,
      () => clock.now(),
      () => process.alive,
    );
    const { events, nodes, push, layers } = compose({
      store: this.#store,
      clock,
      random: systemRandom,
      logger: log,
      metrics: new Metrics(),
      config,
      incarnation: randomUUID(),
      serverName: plan.name,
      serverKeys: SERVER_KEY,
      sealingKey: SealingKey.of(new Uint8Array(32)),
      transport: this.#transport(),
    });
    this.events = events;
    this.nodes = nodes;
    this.owners = push.owners;
    this.push = push.controller;
    this.#layers = new Layers(layers);
  }

  async start(): Promise<void> {
    await this.#layers.load();
    await this.#layers.start();
    if (!this.process.alive) return;
    this.decisions.started = true;
    this.readyAt = this.#world.timeline.now;
    this.ready = true;
  }

  /** SIGTERM, as `server.ts` does it. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.ready = false;
    await this.#layers.stop();
    await this.#store.close();
  }

  /** SIGKILL. */
  kill(): void {
    this.ready = false;
    this.process.die();
    if (this.#side !== null) this.#world.network.unlisten(this.#side);
  }

  startJob(input: StartPushJob): Promise<void> {
    return this.push.start(input);
  }

  #transport(): Transport {
    const { network, plan, trace } = this.#world;
    const { process } = this;
    let outbox: Outbox | null = null;
    return {
      start: async (handlers) => {
        const side: ServerSide = { process, handlers, host: plan.host, key: String(++keys).padStart(40, '0') };
        this.#side = side;
        const socket = {
          send: (identity: Uint8Array, frames: Frames) =>
            process.alive ? network.toNode(side, identity, frames) : 'gone',
        };
        const dropped: Handlers['sendDropped'] = (cause) => {
          trace.say(() => `${plan.name}: not sent, ${cause}`);
          handlers.sendDropped(cause);
        };
        outbox = new Outbox(socket, dropped, LoopTurn.of(process.clock));
        return { ...network.listen(side), curvePublicKey: side.key, plain: null };
      },
      send: (peer: Peer, seal) => {
        if (process.alive) outbox?.push(peer.identity, seal);
      },
      publish: (_channel, frames) => {
        if (process.alive && this.#side !== null) network.publish(this.#side, frames);
      },
      hangUp: ({ identity }) => {
        if (process.alive && this.#side !== null) network.hangUp(this.#side, identity);
      },
      stop: async () => {
        outbox?.close();
        if (this.#side !== null) network.unlisten(this.#side);
      },
    };
  }

  /** What the shipped code logs as its own fault is one. */
  #log(): LayerLog {
    const { plan, trace, report } = this.#world;
    const say = (details: object, message: string): void =>
      trace.say(() => `${plan.name}: ${message} ${brief(details)}`.trimEnd());
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
