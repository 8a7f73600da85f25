import type { NodePlan, TreeFault, TreePlan } from './plan.js';
import type { Truth } from './truth.js';

/** When a node right below the root heard nothing from it. */
export interface Outage {
  readonly fromMs: number;
  /** When the attempt began that ended it. */
  toMs: number;
}

/** Longest that a network which is slow adds to a message. */
export const SLOWEST_MS = 1_000;
/** For everything that is not waiting: turns of the loop. */
const SLACK_MS = 50;

export function cutOff({ outages }: { readonly outages: Outage[] }, nowMs: number): void {
  if (outages.at(-1)?.toMs !== Number.POSITIVE_INFINITY) {
    outages.push({ fromMs: nowMs, toMs: Number.POSITIVE_INFINITY });
  }
}

export function backAgain(place: { readonly outages: readonly Outage[]; readonly dialedMs: number }): void {
  const last = place.outages.at(-1);
  if (last?.toMs === Number.POSITIVE_INFINITY) last.toMs = place.dialedMs;
}

/** what a relay has lost may not come later, except that what is under way above it may still arrive. */
export class Losses {
  readonly #plan: TreePlan;
  readonly #truth: Truth;
  readonly #now: () => number;

  constructor(plan: TreePlan, truth: Truth, now: () => number) {
    this.#plan = plan;
    this.#truth = truth;
    this.#now = now;
  }

  /** That relay has given up whatever its clients had sent until now. */
  at({ name, level }: NodePlan): void {
    const afterMs = this.#now() + this.#underWayMs(level);
    const below = new Set(this.#plan.clients.filter(({ parent }) => parent === name).map((client) => client.name));
    for (const publication of this.#truth.publications.values()) {
      if (!below.has(publication.client) || publication.logged !== null) continue;
      publication.lostAfterMs = Math.min(publication.lostAfterMs, afterMs);
    }
  }

  /** How long something may be on its way through so many links, as each relay gives up after `sendMs`. */
  #underWayMs(links: number): number {
    const { faults, relays, sendMs } = this.#plan;
    const has = (...names: TreeFault[]) => names.some((name) => faults.includes(name));
    const slowest = Math.max(...relays.map(({ latencyMs }) => latencyMs[1]));
    const passing = slowest + (has('slow network') ? SLOWEST_MS : 0);
    const frozen = has('root freeze', 'relay freeze') ? links * sendMs : 0;
    const held = has('partition', 'slow network', 'slow reader') ? (links - 1) * sendMs : 0;
    return SLACK_MS + links * passing + frozen + held;
  }
}
