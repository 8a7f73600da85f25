import type { NodeView } from '@muster/nodes';
import type { OfferedPlugin, TaskReport } from '@muster/wire';
import { TASK_LIMITS } from '../limits.js';
import type { LiveQueue } from '../queues/live-queue.js';
import { STATUS } from '../status.js';
import { Breaker } from './breaker.js';
import { Pace } from './pace.js';

export type Offer = Extract<TaskReport, { type: 'task_slots' }>;

/**
 * A node gets as many tasks beyond those that it runs as it ends while an answer is on its way, so that its slots are never idle.
 * One whose tasks take long gets none. An answer takes so long on its way, besides what it takes to store it.
 */
const WAY_MS = 40;
/** What takes longer is no reason to give a node more. */
const LONGEST_ROUND_MS = 250;

/** Weight of the latest task in how long tasks take, and of the latest answer. */
const LATEST = 0.1;

/** Whether a node runs tasks of a queue, and what that was judged by. */
interface Fit extends Pick<NodeView, 'facts' | 'labels'> {
  readonly version: number;
  readonly fits: boolean;
}

/** A task that it has. */
export interface HeldTask {
  readonly id: string;
  readonly queue: Pick<LiveQueue, 'queue'>;
  readonly state: { readonly status: number };
}

/** What a node offers, and which tasks it has. */
export class NodeSlots {
  readonly node: NodeView;
  readonly held = new Map<string, HeldTask>();
  /** At most so many, set by an administrator (sheet §1.1); null: as many as it offers. */
  maxthreads: number | null = null;
  #offer: Offer | null = null;
  readonly #plugins = new Map<string, OfferedPlugin>();
  readonly #heldOf = new Map<string, number>();
  readonly #breakers = new Map<string, Breaker>();
  readonly #pace = new Pace();
  /** How long its tasks take, lately; null: none has ended. */
  #meanMs: number | null = null;
  /** How long it takes lately until what it is told is stored. */
  #storingMs = 0;
  /** Of queues: whether this node runs their tasks, as of a version of the queue. */
  #fits = new WeakMap<LiveQueue, Fit>();

  constructor(node: NodeView) {
    this.node = node;
  }

  get offer(): Offer | null {
    return this.#offer;
  }

  offers(plugin: string): boolean {
    return this.#plugins.has(plugin);
  }

  offered(offer: Offer): void {
    this.#offer = offer;
    this.#plugins.clear();
    for (const plugin of offer.plugins) this.#plugins.set(plugin.name, plugin);
    this.#fits = new WeakMap();
  }

  /** So many more tasks it may get now. */
  get free(): number {
    if (this.#offer === null || this.node.status !== 'up') return 0;
    const { max } = this.#offer;
    const most = max === 0 ? 0 : max + this.#prefetch(max);
    return Math.min(most, this.maxthreads ?? Number.POSITIVE_INFINITY) - this.held.size;
  }

  /**
   * Ends come in bursts, which promise more than follows: a slot ends no more tasks than there is time for. What waits on the
   * node cannot be taken by others, nor overtaken by other queues.
   */
  #prefetch(slots: number): number {
    const roundMs = Math.min(WAY_MS + this.#storingMs, LONGEST_ROUND_MS);
    const time = this.#meanMs ? Math.ceil((slots * roundMs) / this.#meanMs) : Number.POSITIVE_INFINITY;
    return Math.min(this.#pace.within(roundMs), time, TASK_LIMITS.prefetch);
  }

  /** What it is told was stored so many milliseconds after it was decided. */
  stored(afterMs: number): void {
    this.#storingMs += (afterMs - this.#storingMs) * LATEST;
  }

  get running(): number {
    let running = 0;
    for (const { state } of this.held.values()) if (state.status === STATUS.running) running += 1;
    return running;
  }

  /** Does it run tasks of this queue at all? `matches`: the selectors of the queue let it in. */
  fits(queue: LiveQueue, matches: () => boolean): boolean {
    const { facts, labels } = this.node;
    const known = this.#fits.get(queue);
    // What a node says of itself is another object when it says something else.
    if (known?.version === queue.version && known.facts === facts && known.labels === labels) return known.fits;
    const fits = this.wants(queue) && matches();
    this.#fits.set(queue, { version: queue.version, facts, labels, fits });
    return fits;
  }

  /** By what its agent says: it has the plugin, and the queue is not one that it leaves out (sheet §2.7). */
  wants({ queue: { id, name, plugin } }: LiveQueue): boolean {
    if (this.#offer === null || !this.#plugins.has(plugin)) return false;
    const { activequeues, ignorequeues } = this.#offer;
    const named = (list: readonly string[]): boolean => list.includes(id) || list.includes(name);
    return activequeues.length > 0 ? named(activequeues) : !named(ignorequeues);
  }

  /** May it get another one of this plugin now? @param at Monotonic milliseconds. */
  hasRoomFor(plugin: string, at: number): boolean {
    if (this.#breakers.get(plugin)?.admits(at) === false) return false;
    const concurrency = this.#plugins.get(plugin)?.concurrency ?? null;
    if (concurrency === null) return true;
    return (this.#heldOf.get(plugin) ?? 0) < concurrency + this.#prefetch(concurrency);
  }

  hold(task: HeldTask): void {
    const { plugin } = task.queue.queue;
    this.held.set(task.id, task);
    this.#heldOf.set(plugin, (this.#heldOf.get(plugin) ?? 0) + 1);
    this.#breakers.get(plugin)?.given();
  }

  release(task: HeldTask): void {
    if (!this.held.delete(task.id)) return;
    const { plugin } = task.queue.queue;
    this.#heldOf.set(plugin, (this.#heldOf.get(plugin) ?? 1) - 1);
    this.#breakers.get(plugin)?.undone();
  }

  /** A run came to an end. Answers whether the node gets no more tasks of that plugin for a while, from now on. */
  ended(plugin: string, failed: boolean, durationMs: number, at: number): boolean {
    this.#pace.ended(1, at);
    this.#meanMs ??= durationMs;
    this.#meanMs += (durationMs - this.#meanMs) * LATEST;
    let breaker = this.#breakers.get(plugin);
    if (breaker === undefined) {
      if (!failed) return false;
      breaker = new Breaker();
      this.#breakers.set(plugin, breaker);
    }
    return breaker.ended(failed, durationMs, at);
  }

  /** How long it gets no tasks of the plugin, which fail at once here; 0: it is tried again; null: they do not. */
  brokenMs(plugin: string, at: number): number | null {
    return this.#breakers.get(plugin)?.waitMs(at) ?? null;
  }

  /** Plugins of which it gets no tasks, and for how many milliseconds more. */
  *broken(at: number): Iterable<{ readonly plugin: string; readonly waitMs: number }> {
    for (const [plugin, breaker] of this.#breakers) {
      const waitMs = breaker.waitMs(at);
      if (waitMs !== null) yield { plugin, waitMs };
    }
  }
}
