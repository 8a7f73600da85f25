import type { Random } from '../kernel/random.js';
import type { JobEntry } from './entries.js';
import type { Deadlines } from './invariants.js';
import type { ServerPlace } from './places.js';
import type { ServerPlan } from './scenario.js';
import { ServerProcess, type ServerWorld } from './server-process.js';

export interface ServersWorld extends Omit<ServerWorld, 'plan' | 'random' | 'skewMs'> {
  readonly deadlines: Deadlines;
  /** A new server gives its nodes so long before it judges them. */
  readonly recoveryMs: number;
}

/** The servers of a world: processes over one database, at most one at a time for each host name. */
export class Servers {
  readonly places: readonly ServerPlace[];
  readonly #world: ServersWorld;
  readonly #random: Random;
  /** Of each host that nobody serves: since when, by whom it was served, and how far ahead that clock was. */
  readonly #down = new Map<string, { readonly sinceMs: number; readonly skewMs: number; readonly by: string }>();

  constructor(world: ServersWorld, plans: readonly ServerPlan[], random: Random) {
    this.#world = world;
    this.#random = random;
    this.places = plans.map((plan) => ({ plan, server: null, skewMs: 0, attentiveFrom: 0 }));
  }

  /** The processes that there are, whatever state they are in. */
  get running(): readonly ServerProcess[] {
    return this.places.flatMap(({ server }) => server ?? []);
  }

  /** Those that take requests now. */
  get answering(): readonly ServerProcess[] {
    const { now } = this.#world.timeline;
    return this.running.filter(({ ready, process }) => ready && process.frozenUntil <= now);
  }

  /** Hosts that nobody serves. */
  get vacant(): readonly string[] {
    const hosts = new Set(this.places.map(({ plan }) => plan.host));
    for (const { plan, server } of this.places) if (server !== null) hosts.delete(plan.host);
    return [...hosts];
  }

  /** On one of the machines for this host, unless a server runs for it. */
  async start(host: string): Promise<void> {
    if (!this.vacant.includes(host)) return;
    const place = this.#random.some(this.places.filter(({ plan }) => plan.host === host));
    if (place === undefined) return;
    const { plan, skewMs } = place;
    const { deadlines, ledger, recoveryMs, timeline, trace } = this.#world;
    trace.say(() => `${plan.name} starts`);
    const server = new ServerProcess({ ...this.#world, plan, skewMs, random: this.#random.fork() });
    place.server = server;
    place.attentiveFrom = timeline.now;
    const down = this.#down.get(host);
    if (down !== undefined && down.by !== plan.name) ledger.reach('server: one that stood by takes over');
    for (const job of ledger.durable.jobs.values()) this.#reachJob(job);
    if (down !== undefined) {
      deadlines.postpone(timeline.now - down.sinceMs + recoveryMs + Math.abs(skewMs - down.skewMs));
    }
    await server.start();
  }

  /** What a server finds when it starts: where the one before it ended. */
  #reachJob({ id, phase, stage }: JobEntry): void {
    const { reach, durable } = this.#world.ledger;
    if (phase === 'finished') return;
    reach(`server: starts with a job that is ${phase}`);
    const nodes = [...durable.nodesOf(id).values()];
    for (const { waits } of nodes) if (waits) reach('server: starts with a node that is waited for');
    if (phase !== 'running' || stage === null) return;
    if (stage.hold !== null) {
      reach('server: starts with a job that is held');
      reach(`server: starts with a job that is held: ${stage.hold}`);
    } else if (stage.batch > 1 && nodes.some(({ starting }) => starting)) {
      reach('server: starts with a later batch that was begun, and may have started nowhere');
    }
  }

  /** SIGKILL. */
  crash(place: ServerPlace): void {
    if (place.server === null) return;
    this.#world.trace.say(() => `${place.plan.name} CRASHES`);
    this.#gone(place);
  }

  /** SIGTERM, for a server that hears it. */
  async stop(place: ServerPlace): Promise<void> {
    const { server } = place;
    if (server === null || !this.answering.includes(server)) return;
    this.#world.trace.say(() => `${place.plan.name} is told to stop`);
    const sinceMs = this.#world.timeline.now;
    await server.stop();
    if (place.server === server) this.#gone(place, sinceMs);
  }

  /** The world ends. */
  close(): void {
    for (const server of this.running) server.kill();
  }

  #gone(place: ServerPlace, sinceMs = this.#world.timeline.now): void {
    const { plan, server, skewMs } = place;
    server?.kill();
    place.server = null;
    this.#down.set(plan.host, { sinceMs, skewMs, by: plan.name });
    this.#world.trace.say(() => `${plan.name} is gone`);
  }
}
