import { Violation } from '../kernel/violation.js';
import type { Outage } from './losses.js';
import type { Org, SubscriptionPlan } from './plan.js';
import type { Logged, Truth } from './truth.js';

/** Longest that clocks, commits and messages may take on the way of a SUBSCRIBE with a relative `from`. */
const SECOND_MS = 1000;

export interface FollowerPorts {
  readonly truth: Truth;
  /** Of the node below the root. */
  readonly outages: readonly Outage[];
  readonly report: (violation: Violation) => void;
  now(): number;
}

/**
 * One subscription as seen by its client, and the rules of what comes: nothing twice, nothing out of order, nothing that
 * is not in the log or not for it, nothing that was lost before; with `from` nothing is missing either.
 *
 * A place in the tree never changes, so that even over many connections positions only grow.
 */
export class Follower {
  readonly name: string;
  readonly plan: SubscriptionPlan;
  readonly org: Org;
  /** Events that came. */
  readonly received = new Set<number>();
  ended = false;
  ready = false;
  #last: number;
  /** In the log of the organization; with `from` everything before it was received, or is not for us. Null: unknown. */
  #next: number | null;
  readonly #ports: FollowerPorts;

  constructor(name: string, org: Org, plan: SubscriptionPlan, ports: FollowerPorts) {
    this.name = name;
    this.org = org;
    this.plan = plan;
    this.#ports = ports;
    const position = /^\d+$/.test(plan.from ?? '') ? Number(plan.from) : 0;
    this.#last = position;
    this.#next = plan.from?.startsWith('-') ? null : 0;
  }

  wants(event: Logged): boolean {
    return event.org === this.org && this.plan.selector.holds(event.attributes) === true;
  }

  /** @param position null: a message that stands for no event of the log. */
  take(position: number | null, attributes: { get(name: string): string | undefined }, org: string): void {
    const { truth } = this.#ports;
    if (this.ended) return this.#fail('nothing after the end', `position ${position}`);
    const event = position === null ? undefined : truth.at(position);
    if (position === null || event === undefined) {
      return this.#fail('only what is logged', `position ${position}, event ${attributes.get('n')}`);
    }
    if (event.id !== null && Number(attributes.get('n')) !== event.id) {
      return this.#fail('verbatim', `event ${attributes.get('n')} at the position of event ${event.id}`);
    }
    if (position <= this.#last) {
      return this.#fail(this.received.has(position) ? 'once' : 'order', `position ${position} after ${this.#last}`);
    }
    this.received.add(position);
    if (org !== this.org || event.org !== this.org) this.#fail('organization', `an event of ${event.org}`);
    if (!this.wants(event)) this.#fail('selector', `position ${position} for ${this.plan.selector.text}`);
    if (this.plan.from === null) this.#checkLost(event);
    else this.#checkGapless(event);
    this.#last = position;
  }

  /** What it should have and has not, if it has everything to come; only with `from`. */
  missing(): Logged | null {
    if (this.plan.from === null) return null;
    return this.#wantedFrom(this.#next ?? 0, Number.POSITIVE_INFINITY, this.#oldestMs) ?? null;
  }

  /** Whatever the root told of while the node above us was cut off is lost to all below it. */
  #checkLost(event: Logged): void {
    if (!event.told) this.#fail('after the outage', `position ${event.position}, which the root told nobody`);
    for (const { fromMs, toMs } of this.#ports.outages) {
      if (event.atMs <= fromMs || event.atMs >= toMs) continue;
      this.#fail('after the outage', `position ${event.position} was lost`);
    }
  }

  #checkGapless(event: Logged): void {
    const missed = this.#wantedFrom(this.#next ?? 0, event.position, this.#oldestMs);
    if (missed !== undefined) this.#fail('gapless', `position ${event.position}, but not ${missed.position}`);
    const all = this.#ports.truth.of(this.org);
    let index = this.#next ?? 0;
    while (index < all.length && (all[index] as Logged).position <= event.position) index += 1;
    this.#next = index;
  }

  /** With a relative `from` that was not served yet, what is younger must come. */
  get #oldestMs(): number {
    if (this.#next !== null) return Number.NEGATIVE_INFINITY;
    return this.#ports.now() - Number(/\d+/.exec(this.plan.from ?? '')?.[0]) * SECOND_MS;
  }

  #wantedFrom(index: number, before: number, oldestMs: number): Logged | undefined {
    const all = this.#ports.truth.of(this.org);
    for (let at = index; at < all.length; at++) {
      const event = all[at] as Logged;
      if (event.position >= before) return undefined;
      if (event.position > this.#last && event.stampedMs >= oldestMs && this.wants(event)) return event;
    }
    return undefined;
  }

  #fail(rule: string, detail: string): void {
    this.#ports.report(new Violation(rule, `${this.name}: ${detail}`));
  }
}
