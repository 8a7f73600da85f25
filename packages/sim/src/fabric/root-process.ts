import { MusterError } from '@muster/base';
import { createRoot, EVERY_TYPE, type Login, type Revoked, type Root, type RootPorts } from '@muster/fabric';
import { loadConfig } from '@muster/platform/config';
import { EventSchedule, StoredCursors } from '@muster/platform/events';
import { createEvents, type Events } from '@muster/platform/log';
import type { Batch, MemoryDatabase, Store } from '@muster/store';
import { type DiskConditions, FaultyLane } from '../kernel/faulty-lane.js';
import type { Random } from '../kernel/random.js';
import type { Host } from '../kernel/tcp/host.js';
import type { Network } from '../kernel/tcp/network.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import { ORGS, type Org, type TreePlan } from './plan.js';
import type { Truth } from './truth.js';

export const ROOT_URL = 'stomp://root:61613';
export const PASSCODE = 'secret';
const CONFIG = loadConfig({ env: {}, flags: { 'log-level': 'silent' } });
const PAGE = { events: 1000, bytes: 16 * 1024 * 1024 };
const LOGIN_MS = 5;
/** Logins of relays. */
const RELAY = /\/relay\d+$/;

export interface RootWorld {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly random: Random;
  readonly database: MemoryDatabase;
  readonly disk: DiskConditions;
  readonly host: Host;
  readonly plan: TreePlan;
  readonly truth: Truth;
  readonly log: ProcessLog;
  /** For the counts of what runs have reached. */
  readonly reach: (what: string) => void;
  /** That is durable now. */
  readonly stored: (batch: Batch) => void;
}

/** What the shipped code logs with. */
export interface ProcessLog {
  debug(details: object, message: string): void;
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export function organizationId(name: string): string | undefined {
  const index = ORGS.indexOf(name as Org);
  return index < 0 ? undefined : String(index + 1).padStart(32, '0');
}

/** One life of the root: the shipped log, schedule and root, put together as the server does. */
export class RootProcess {
  readonly process: Process;
  readonly #world: RootWorld;
  readonly #store: Store;
  readonly #events: Events;
  readonly #schedule: EventSchedule;
  readonly #revocations = new Set<(revoked: Revoked) => void>();
  #root: Root | null = null;
  #close: () => Promise<void> = async () => undefined;
  #stopping = false;

  constructor(world: RootWorld) {
    this.#world = world;
    const { database, disk, log, random, timeline } = world;
    this.process = new Process('root', timeline);
    const { process } = this;
    const { clock } = process;
    this.#store = database.connect(
      { clock, log },
      (lane) => new FaultyLane(lane, { conditions: disk, timeline, process, random, reach: world.reach }, world.stored),
    );
    this.#events = createEvents({
      store: this.#store,
      clock,
      logger: log,
      config: CONFIG,
      organizationId: async (name) => organizationId(name),
      organizationName: async (id) => ORGS[Number(id) - 1] ?? null,
    });
    this.#schedule = new EventSchedule({
      store: this.#store,
      recorder: this.#events.recorder,
      clock,
      random: (size) => Uint8Array.from({ length: size }, () => random.integer(0, 255)),
      organization: async (name) => {
        const id = organizationId(name);
        return id === undefined ? undefined : { id, name };
      },
      most: 1000,
      log,
    });
  }

  get root(): Root | null {
    return this.#root;
  }

  async start(): Promise<void> {
    const { host, log, network, plan, timeline, truth } = this.#world;
    const { process } = this;
    host.process = process;
    await this.#events.load();
    this.#events.start();
    await this.#recover();
    await this.#schedule.load();
    this.#events.log.onStored((events) => {
      if (process.alive) truth.logged(events, timeline.now, true);
    });
    const root = createRoot({
      ports: this.#ports(),
      clock: process.clock,
      log,
      server: 'muster/sim',
      outboundBytes: plan.outletBytes,
      idleMs: plan.heartBeatMs,
      sendMs: plan.sendMs,
      defer: (work) => void timeline.after(0, process, work),
    });
    this.#root = root;
    const { close } = network.listen(host, process, ROOT_URL, root.accept);
    this.#close = close;
    this.#schedule.start();
  }

  /** SIGTERM. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#close();
    await this.#schedule.stop();
    await this.#root?.stop();
    await this.#events.stop();
    await this.#store.close();
  }

  get stopping(): boolean {
    return this.#stopping;
  }

  /** SIGKILL, or the machine's end. */
  kill(silent: boolean): void {
    const { host, network } = this.#world;
    this.process.die();
    host.process = null;
    network.died(this.process, silent);
  }

  /** What somebody was granted may hold no longer. */
  revoke(org: Org, principal: string | null): void {
    for (const listener of this.#revocations) listener({ org, principal });
  }

  /** What became durable and was not told of before the end of the last life. */
  async #recover(): Promise<void> {
    const { timeline, truth } = this.#world;
    const found = [];
    for (const org of ORGS) {
      for (let after = truth.last; ; ) {
        const page = await this.#events.log.read(after, org, PAGE);
        found.push(...page.events);
        if (page.events.length === 0) break;
        after = page.through;
      }
    }
    truth.logged(
      found.sort((one, other) => one.position - other.position),
      timeline.now,
      false,
    );
  }

  #ports(): RootPorts {
    const { random, timeline } = this.#world;
    const { process } = this;
    const login = (name: string, passcode: string): Promise<Login> =>
      new Promise((resolve, reject) => {
        timeline.after(random.between(0, LOGIN_MS), process, () => {
          const [org = ''] = name.split('/');
          if (passcode !== PASSCODE || organizationId(org) === undefined)
            return reject(new MusterError('login_refused'));
          const relay = RELAY.test(name);
          const access = {
            org,
            principal: name,
            kind: 'node' as const,
            relay,
            publish: EVERY_TYPE,
            subscribe: EVERY_TYPE,
          };
          resolve({ access, expiresMs: null, grounds: '' });
        });
      });
    return {
      authority: {
        login,
        renew: (name) => login(name, PASSCODE),
        onRevoked: (listener) => {
          this.#revocations.add(listener);
          return () => this.#revocations.delete(listener);
        },
      },
      log: this.#events.log,
      cursors: new StoredCursors(
        this.#store,
        async (name) => organizationId(name),
        async () => true,
      ),
      schedule: this.#schedule,
    };
  }
}
