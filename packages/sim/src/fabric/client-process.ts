import { MusterError } from '@muster/base';
import { type Client, connect, type Subscription } from '@muster/fabric/client';
import type { Random } from '../kernel/random.js';
import type { Host, Link } from '../kernel/tcp/host.js';
import type { Network } from '../kernel/tcp/network.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import { DurableProgram } from './durable-program.js';
import type { DurableReader } from './durable-reader.js';
import { Follower, type FollowerPorts } from './follower.js';
import type { ClientPlan, SubscriptionPlan, TreePlan } from './plan.js';
import { urlOf } from './relay-process.js';
import { PASSCODE } from './root-process.js';
import { HOSTS, MOST_LEVEL, TYPES } from './selectors.js';
import type { Publication, Truth } from './truth.js';

export interface ClientWorld {
  readonly timeline: Timeline;
  readonly network: Network;
  readonly random: Random;
  readonly plan: TreePlan;
  readonly trace: Trace;
  readonly truth: Truth;
  readonly follower: FollowerPorts;
  readonly report: (violation: Violation) => void;
  readonly nextId: () => number;
  dialed(): void;
  found(): void;
  lost(): void;
  /** The program has ended by itself. */
  over(): void;
  /** The faults go on. */
  troubled(): boolean;
}

/** What a program is told when something failed that may fail. */
const EXPECTED = new Set([
  'event_revoked',
  'event_slow_client',
  'event_stopping',
  'fabric_closed',
  'fabric_lost',
  'fabric_not_connected',
  'fabric_unconfirmed',
  'fabric_unreachable',
  'relay_stopping',
  'store_unavailable',
  'too_busy',
  'upstream_failed',
]);
const RETRY = { minMs: 300, maxMs: 2_000 };

interface Following {
  readonly follower: Follower;
  readonly subscription: Subscription;
}

/** One life of a program that uses the client library. */
export class ClientProcess {
  readonly process: Process;
  readonly #plan: ClientPlan;
  readonly #world: ClientWorld;
  readonly #client: Client;
  readonly following = new Set<Following>();
  /** Of the durable subscriptions of its place, those it reads now. */
  readonly reading = new Set<DurableProgram>();
  /** Of its connections, the present one; 0: none yet. */
  #connection = 0;
  #subscribed = 0;

  constructor(world: ClientWorld, own: ClientPlan, host: Host, link: Link, life: number) {
    this.#world = world;
    this.#plan = own;
    const { network, plan, random, timeline } = world;
    const process = new Process(own.name, timeline);
    this.process = process;
    host.process = process;
    this.#client = connect({
      url: urlOf(own.parent),
      login: `${own.org}/${own.name}`,
      passcode: PASSCODE,
      heartBeatMs: plan.heartBeatMs,
      reconnect: RETRY,
      clock: process.clock,
      random: () => random.next(),
      dial: (url, options, handlers) => {
        world.dialed();
        return network.dial(host, process, link, url, options, handlers);
      },
      onStatus: (status) => {
        if (!process.alive) return;
        world.trace.say(() => `${own.name}: ${status.state}${'error' in status ? ` ${status.error?.message}` : ''}`);
        if (status.state === 'connected') {
          this.#connection += 1;
          for (const program of this.reading) program.connected();
          world.found();
        } else if (status.state === 'lost') {
          this.#expect(status.error);
          world.lost();
        } else if (status.state === 'closed') world.over();
      },
    });
    this.#client.ready().catch(() => undefined);
    this.#connection = life * CONNECTIONS;
    for (const subscription of own.subscriptions) this.subscribe(subscription);
  }

  get connected(): boolean {
    return this.#client.status.state === 'connected';
  }

  /** Everything it wants is being served. */
  get well(): boolean {
    const readers = [...this.reading];
    return (
      this.connected &&
      [...this.following].every(({ follower }) => follower.ready) &&
      readers.every(({ ready }) => ready)
    );
  }

  subscribe(asked: SubscriptionPlan): void {
    const { follower: ports, trace, truth } = this.#world;
    // Positions that do not exist yet are the end of the log.
    const ahead = /^\d+$/.test(asked.from ?? '') && Number(asked.from) > truth.last;
    const plan = ahead ? { ...asked, from: 'first' } : asked;
    const { from, selector, slow } = plan;
    this.#subscribed += 1;
    const follower = new Follower(`${this.#plan.name}/${this.#subscribed}`, this.#plan.org, plan, ports);
    trace.say(() => `${follower.name} subscribes: ${selector.text || 'everything'}, from ${from ?? 'now'}`);
    const subscription = this.#client.subscribe({
      ...(selector.text !== '' && { selector: selector.text }),
      ...(from !== null && { from }),
      ...(slow !== null && { slow }),
    });
    const following = { follower, subscription };
    this.following.add(following);
    this.#follow(following).catch((error: unknown) => {
      this.following.delete(following);
      this.#expect(error);
    });
  }

  /** What of these is not being read. */
  readAll(readers: Iterable<DurableReader>): void {
    const read = new Set([...this.reading].map(({ reader }) => reader));
    for (const reader of readers) if (!read.has(reader)) this.#read(reader);
  }

  #read(reader: DurableReader): void {
    const { random, trace } = this.#world;
    const program = new DurableProgram(reader, {
      client: this.#client,
      process: this.process,
      random,
      trace,
      connection: () => this.#connection,
      troubled: () => this.#world.troubled(),
      expect: (error) => this.#expect(error),
      over: (over) => void this.reading.delete(over),
    });
    this.reading.add(program);
  }

  /** Reads a durable subscription no more. Answers whether it was certainly forgotten. */
  leave(program: DurableProgram, forget: boolean): Promise<boolean> {
    this.reading.delete(program);
    return program.leave(forget);
  }

  unsubscribe(following: Following): void {
    this.#world.trace.say(() => `${following.follower.name} unsubscribes`);
    following.follower.ended = true;
    this.following.delete(following);
    following.subscription.unsubscribe().catch((error: unknown) => this.#expect(error));
  }

  /** @param dueMs for a future event. */
  publish(withReceipt: boolean, dueMs: number | null, bodyBytes: number): Publication | null {
    if (!this.connected) return null;
    const { nextId, random, trace, truth } = this.#world;
    const publication: Publication = {
      id: nextId(),
      client: this.#plan.name,
      org: this.#plan.org,
      connection: this.#connection,
      dueMs,
      state: 'sent',
      readMs: null,
      lostAfterMs: Number.POSITIVE_INFINITY,
      logged: null,
    };
    const attributes: [string, string][] = [['n', String(publication.id)]];
    if (random.chance(0.8)) attributes.push(['host', random.pick(HOSTS)]);
    if (random.chance(0.7)) attributes.push(['level', String(random.integer(0, MOST_LEVEL))]);
    const event = {
      type: random.pick(TYPES),
      attributes,
      body: 'x'.repeat(random.integer(0, bodyBytes)),
      ...(dueMs !== null && { at: Math.floor(dueMs) }),
    };
    truth.published(publication);
    trace.say(() => `${this.#plan.name} publishes event ${publication.id}${dueMs === null ? '' : ' for later'}`);
    if (!withReceipt) {
      this.#client.publishNow(event).catch((error: unknown) => this.#expect(error));
      return publication;
    }
    this.#client.publish(event).then(
      () => {
        publication.state = 'confirmed';
        trace.say(() => `${this.#plan.name}: event ${publication.id} is confirmed`);
        if (publication.logged === null && dueMs === null)
          this.#fail('a receipt means logged', `event ${publication.id}`);
      },
      (error: unknown) => {
        publication.state = 'failed';
        trace.say(() => `${this.#plan.name}: event ${publication.id} is not confirmed: ${messageOf(error)}`);
        this.#expect(error);
      },
    );
    return publication;
  }

  kill(silent: boolean): void {
    this.process.die();
    this.#world.network.died(this.process, silent);
  }

  async #follow({ follower, subscription }: Following): Promise<void> {
    subscription.ready.then(
      () => {
        follower.ready = true;
      },
      // The iteration says it as well.
      () => undefined,
    );
    for await (const message of subscription) {
      if (!this.process.alive) return;
      const { trace } = this.#world;
      if (message.isMarker) {
        const dropped = message.get('dropped');
        trace.say(() => `${follower.name}: ${dropped ?? 'some'} are missing`);
        // R-10: below a relay that was cut off nobody knows.
        if (dropped !== undefined && follower.plan.slow === null)
          this.#fail('missing', `${follower.name}: ${message.get('reason')}`);
        continue;
      }
      trace.say(() => `${follower.name} gets ${message.id}, event ${message.get('n')}`);
      follower.take(message.position, attributesOf(message), message.org);
    }
  }

  #expect(error: unknown): void {
    if (!this.process.alive || (error instanceof MusterError && EXPECTED.has(error.code))) return;
    this.#fail('errors', `${this.#plan.name} was told: ${messageOf(error)}`);
  }

  #fail(rule: string, detail: string): void {
    this.#world.report(new Violation(rule, detail));
  }
}

/** More than a life has. */
const CONNECTIONS = 100_000;

function attributesOf(message: { get(name: string): string | undefined }): { get(name: string): string | undefined } {
  return { get: (name) => message.get(name) };
}

function messageOf(error: unknown): string {
  return error instanceof MusterError
    ? `${error.code} ${error.message}`
    : error instanceof Error
      ? (error.stack ?? '')
      : String(error);
}
