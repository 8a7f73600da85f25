import { platformLayer } from '@muster/platform/layers';
import { type Batch, insert, type MemoryDatabase, openMemory } from '@muster/store';
import { brief } from '../kernel/brief.js';
import type { DiskConditions } from '../kernel/faulty-lane.js';
import { Random } from '../kernel/random.js';
import { Stage } from '../kernel/stage.js';
import type { Host } from '../kernel/tcp/host.js';
import { Network } from '../kernel/tcp/network.js';
import { Process, Timeline } from '../kernel/timeline.js';
import { Violation } from '../kernel/violation.js';
import { ClientProcess } from './client-process.js';
import { DurableReader } from './durable-reader.js';
import { framesOf, idsIn } from './frames-said.js';
import { checkStep } from './invariants.js';
import { backAgain, cutOff, Losses } from './losses.js';
import type { ClientPlace, Place, RelayPlace } from './places.js';
import { type DurablePlan, makeTreePlan, type NodePlan, ORGS, type TreePlan, type TreeSizes } from './plan.js';
import { RelayProcess, type RelayStateName } from './relay-process.js';
import { organizationId, type ProcessLog, RootProcess } from './root-process.js';
import { Truth } from './truth.js';

const MIGRATIONS = [platformLayer.migrations];

/** For the last words of a relay that stops. */
const LAST_WORDS_MS = 50;

const saveOrganization = insert('organizations', { id: 'text', name: 'text', created_at: 'integer' }, ['id']);

export interface TreeOptions extends TreeSizes {
  readonly print?: (line: string) => void;
}

/** One tree of the event fabric, the network in it, and everything that is known to be true of it. */
export class TreeWorld extends Stage {
  readonly plan: TreePlan;
  readonly random: Random;
  readonly network: Network;
  readonly truth: Truth;
  readonly disk: DiskConditions;
  readonly rootHost: Host = { name: 'root', process: null, reading: null };
  readonly relays: readonly RelayPlace[];
  readonly clients: readonly ClientPlace[];
  root: RootProcess | null = null;
  /** Until the faults stop. */
  troubled = true;
  readonly #database: MemoryDatabase;
  readonly #losses: Losses;
  /** By organization, principal and name. */
  readonly #durables = new Map<string, DurableReader>();
  #published = 0;

  private constructor(seed: number, database: MemoryDatabase, options: TreeOptions) {
    const print = options.print ?? null;
    super(print);
    this.#database = database;
    const random = new Random(seed);
    this.plan = makeTreePlan(random.fork(), options);
    this.random = random.fork();
    const { commitMs, windowBytes, splits } = this.plan;
    this.truth = new Truth(this.trace, this.report);
    this.network = new Network({
      timeline: this.timeline,
      random: random.fork(),
      windowBytes,
      splits,
      read: (host, bytes, from) => this.#read(host, bytes, from, print !== null),
    });
    this.#losses = new Losses(this.plan, this.truth, () => this.timeline.now);
    this.disk = { delayMs: commitMs, failing: false, unknown: 0 };
    this.relays = this.plan.relays.map((plan) => ({ plan, ...this.#place(plan), relay: null }));
    this.clients = this.plan.clients.map((plan) => {
      const place: ClientPlace = { plan, ...this.#place(plan), durables: new Set(), client: null };
      for (const durable of plan.durables) this.newDurable(place, durable);
      return place;
    });
  }

  static async create(seed: number, options: TreeOptions): Promise<TreeWorld> {
    const { clock } = new Process('setup', new Timeline());
    const database = await openMemory(clock, MIGRATIONS);
    const setup = database.connect({ clock });
    await setup.commit(ORGS.map((name) => saveOrganization({ id: organizationId(name) ?? '', name, created_at: 0 })));
    await setup.close();
    return new TreeWorld(seed, database, options);
  }

  protected override check(): void {
    checkStep(this);
  }

  newDurable(place: ClientPlace, durable: DurablePlan): void {
    const { truth, report, coverage } = this;
    const { org, name, parent } = place.plan;
    const reach = (what: string): void => coverage.reach(what);
    this.keepDurable(place, new DurableReader(durable, org, name, parent === null, { truth, report, reach }));
  }

  /** A durable subscription that this place has from now on. */
  keepDurable(place: ClientPlace, reader: DurableReader): void {
    place.durables.add(reader);
    this.#durables.set(durableKey(place, reader), reader);
  }

  dropDurable(place: ClientPlace, reader: DurableReader): void {
    place.durables.delete(reader);
    this.#durables.delete(durableKey(place, reader));
  }

  #stored(batch: Batch): void {
    for (const { statement, rows } of batch) {
      if (statement.table !== 'event_cursors') continue;
      for (const { org_id: org, principal, name, through, acknowledged } of rows) {
        const cursor = { through: Number(through), acknowledged: JSON.parse(String(acknowledged)) };
        this.#durables.get(`${org} ${principal} ${name}`)?.stored(cursor);
      }
    }
  }

  isFrozen(process: Process | undefined): boolean {
    return process !== undefined && process.frozenUntil > this.timeline.now;
  }

  // --- the root

  startRoot(): void {
    if (this.root !== null) return;
    this.trace.say(() => 'the root starts');
    const { timeline, network, disk, plan, truth, rootHost: host } = this;
    const random = this.random.fork();
    const log = this.#log('root', () => root.stopping);
    const root: RootProcess = new RootProcess({
      timeline,
      network,
      random,
      database: this.#database,
      disk,
      host,
      plan,
      truth,
      log,
      reach: (what) => this.coverage.reach(what),
      stored: (batch) => this.#stored(batch),
    });
    this.root = root;
    this.#watched(root.start());
  }

  crashRoot(silent: boolean): void {
    const { root } = this;
    if (root === null) return;
    this.trace.say(() => `the root CRASHES${silent ? ' with its machine' : ''}`);
    this.root = null;
    root.kill(silent);
  }

  async stopRoot(): Promise<void> {
    const { root } = this;
    if (root === null || root.root === null || root.stopping || this.isFrozen(root.process)) return;
    this.trace.say(() => 'the root is told to stop');
    // What cannot be stored at the end is told to nobody.
    await root.stop().catch(() => undefined);
    if (this.root === root) this.crashRoot(false);
  }

  // --- relays

  startRelay(place: RelayPlace): void {
    if (place.relay !== null) return;
    const { plan, host, link } = place;
    this.trace.say(() => `${plan.name} starts below ${plan.parent ?? 'the root'}`);
    const { timeline, network } = this;
    const relay: RelayProcess = new RelayProcess(
      {
        timeline,
        network,
        random: this.random.fork(),
        plan: this.plan,
        log: this.#log(plan.name, () => false),
        dialed: () => {
          place.dialedMs = timeline.now;
        },
        entered: (state) => this.#entered(place, state),
      },
      plan,
      host,
      link,
    );
    place.relay = relay;
  }

  crashRelay(place: RelayPlace, silent: boolean): void {
    const { relay } = place;
    if (relay === null) return;
    this.trace.say(() => `${place.plan.name} CRASHES${silent ? ' with its machine' : ''}`);
    place.relay = null;
    relay.kill(silent);
    this.#losses.at(place.plan);
    cutOff(place, this.timeline.now);
  }

  async stopRelay(place: RelayPlace): Promise<void> {
    const { relay } = place;
    if (relay === null || relay.stopping || this.isFrozen(relay.process)) return;
    this.trace.say(() => `${place.plan.name} is told to stop`);
    await relay.stop();
    // Its last words are on their way.
    this.timeline.after(LAST_WORDS_MS, null, () => {
      if (place.relay === relay) this.crashRelay(place, false);
    });
  }

  // --- clients

  startClient(place: ClientPlace): void {
    if (place.client !== null) return;
    const { plan, host, link } = place;
    this.trace.say(() => `${plan.name} starts below ${plan.parent ?? 'the root'}`);
    const { timeline, network, trace, truth, report } = this;
    place.lives += 1;
    const top = this.#topOf(place);
    const client: ClientProcess = new ClientProcess(
      {
        timeline,
        network,
        random: this.random.fork(),
        plan: this.plan,
        trace,
        truth,
        follower: { truth, outages: top.outages, report, now: () => timeline.now },
        report,
        nextId: () => ++this.#published,
        dialed: () => {
          place.dialedMs = timeline.now;
        },
        found: () => backAgain(place),
        lost: () => cutOff(place, this.timeline.now),
        troubled: () => this.troubled,
        over: () => {
          if (place.client === client) this.crashClient(place, false);
        },
      },
      plan,
      host,
      link,
      place.lives,
    );
    place.client = client;
    client.readAll(place.durables);
  }

  crashClient(place: ClientPlace, silent: boolean): void {
    const { client } = place;
    if (client === null) return;
    this.trace.say(() => `${place.plan.name} is gone`);
    place.client = null;
    place.host.process = null;
    client.kill(silent);
    cutOff(place, this.timeline.now);
  }

  close(): void {
    this.root?.process.die();
    for (const { relay } of this.relays) relay?.process.die();
    for (const { client } of this.clients) client?.process.die();
    this.#database.close();
  }

  // --- parts

  #place({ name, latencyMs }: NodePlan): Place {
    const link = { name, latencyMs, cut: false, delayMs: 0 };
    return { host: { name, process: null, reading: null }, link, outages: [], dialedMs: 0, lives: 0 };
  }

  /** Everything that a place hears comes through this one. */
  #topOf(place: RelayPlace | ClientPlace): Place {
    const { parent } = place.plan;
    const above = this.relays.find(({ plan }) => plan.name === parent);
    return above === undefined ? place : this.#topOf(above);
  }

  #entered(place: RelayPlace, state: RelayStateName): void {
    this.coverage.reach(`relay: ${state}`);
    if (state === 'serving') backAgain(place);
    if (state === 'degraded' || state === 'drop' || state === 'stopped') cutOff(place, this.timeline.now);
    // what clients had sent until then is lost.
    if (state === 'drop' || state === 'stopped') this.#losses.at(place.plan);
  }

  #read(host: Host, bytes: Uint8Array, from: Host, printing: boolean): void {
    if (host === this.rootHost) {
      for (const id of idsIn(bytes)) {
        const publication = this.truth.publications.get(id);
        if (publication !== undefined) publication.readMs ??= this.timeline.now;
      }
    }
    if (!printing) return;
    const text = Buffer.from(bytes).toString('latin1');
    this.trace.say(() => `${from.name} -> ${host.name}: ${framesOf(text)}`);
  }

  /** What the shipped code logs as its own fault is one. */
  #log(name: string, stopping: () => boolean): ProcessLog {
    const say = (details: object, message: string): void =>
      this.trace.say(() => `${name}: ${message} ${brief(details)}`.trimEnd());
    return {
      debug: say,
      info: say,
      warn: say,
      error: (details, message) => {
        say(details, message);
        if (!stopping()) this.report(new Violation('logged', `${name}: ${message} ${brief(details)}`));
      },
    };
  }

  #watched(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.report(new Violation('start', error instanceof Error ? (error.stack ?? error.message) : String(error)));
    });
  }
}

function durableKey({ plan: { org, name } }: ClientPlace, reader: DurableReader): string {
  return `${organizationId(org)} ${org}/${name} ${reader.plan.name}`;
}
