import type { NodeRegistry } from '@muster/nodes';
import { TASK_LIMITS } from '../limits.js';
import type { ReadyTask } from '../queues/lane.js';
import type { LiveQueue } from '../queues/live-queue.js';
import type { NodeSlots } from './node-slots.js';

/** A task, and the node that is to run it. */
export interface Match {
  readonly queue: LiveQueue;
  readonly task: ReadyTask;
  readonly slots: NodeSlots;
}

export interface SchedulerDeps {
  readonly attributes: NodeRegistry['attributes'];
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/**
 * Who gets what next (T2). Slots and backlogs are in memory, so that nothing is asked of the store; a match becomes true when
 * it is stored. Queues share the slots of a node by weight: the one that had least is next.
 */
export class Scheduler {
  readonly #deps: SchedulerDeps;
  /** Nodes by organization that may have room. */
  readonly #nodes = new Map<string, Set<NodeSlots>>();
  /** Queues by organization that have something to assign. */
  readonly #queues = new Map<string, Set<LiveQueue>>();
  /** By organization, the pass of the queue that had something last. */
  readonly #passes = new Map<string, number>();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  /** The node may have room now. */
  roomAt(slots: NodeSlots): void {
    setOf(this.#nodes, slots.node.org.id).add(slots);
  }

  /** The queue may have something to assign now. */
  workIn(queue: LiveQueue): void {
    const waiting = setOf(this.#queues, queue.org.id);
    if (waiting.has(queue)) return;
    // Whoever did not wait has not been kept waiting: it does not make up for what others had meanwhile, also when they wait no more.
    // But what nodes have of others by then comes before it, so that it gets as much first.
    let least = Number.POSITIVE_INFINITY;
    for (const other of waiting) least = Math.min(least, other.pass - ahead(other));
    const alone = waiting.size === 0;
    queue.pass = Math.max(queue.pass, alone ? (this.#passes.get(queue.org.id) ?? 0) : least + ahead(queue));
    waiting.add(queue);
  }

  forgetQueue(queue: LiveQueue): void {
    this.#queues.get(queue.org.id)?.delete(queue);
  }

  forgetNode(slots: NodeSlots): void {
    this.#nodes.get(slots.node.org.id)?.delete(slots);
  }

  /**
   * Matches as many as are possible, each told to `matched` at once, which counts it for its queue and its node. Answers
   * when it is to be looked again only because time passes, in milliseconds; null: never.
   */
  match(matched: (match: Match) => void): number | null {
    let left: number = TASK_LIMITS.assignedAtOnce;
    let wake: number | null = null;
    for (const [orgId, queues] of this.#queues) {
      const nodes = this.#nodes.get(orgId);
      if (nodes === undefined || nodes.size === 0 || queues.size === 0) continue;
      left -= this.#matchOrganization(queues, nodes, left, matched);
      for (const queue of queues) {
        const wait = queue.waiting ? queue.rateWaitMs(this.#deps.now()) : 0;
        if (wait > 0) wake = Math.min(wake ?? wait, wait);
      }
      if (left <= 0) return 0;
    }
    return wake;
  }

  #matchOrganization(
    queues: Set<LiveQueue>,
    nodes: Set<NodeSlots>,
    most: number,
    matched: (match: Match) => void,
  ): number {
    let done = 0;
    for (let progress = true; progress; ) {
      progress = false;
      // One for each node in turn, so that the work is spread over them.
      for (const slots of [...nodes]) {
        if (slots.free <= 0) {
          nodes.delete(slots);
          continue;
        }
        const queue = this.#next(queues, slots);
        const task = queue?.take();
        if (queue === undefined || task === undefined) {
          if (queues.size === 0) return done;
          continue;
        }
        queue.pass += 1 / queue.queue.rules.weight;
        this.#passes.set(queue.org.id, queue.pass);
        matched({ queue, task, slots });
        // The others first, the next time.
        nodes.delete(slots);
        nodes.add(slots);
        progress = true;
        done += 1;
        if (done === most) return done;
      }
    }
    return done;
  }

  /** Of the queues whose tasks the node may run, the one that had least. */
  #next(queues: Set<LiveQueue>, slots: NodeSlots): LiveQueue | undefined {
    const now = this.#deps.now();
    let next: LiveQueue | undefined;
    for (const queue of queues) {
      if (!queue.waiting) {
        queues.delete(queue);
        continue;
      }
      if (next !== undefined && next.pass <= queue.pass) continue;
      const obstacle = queue.obstacle(now);
      if (obstacle !== null) {
        // What ends, or a person, brings it back; its rate does so by itself.
        if (obstacle !== 'rate') queues.delete(queue);
        continue;
      }
      if (this.fits(slots, queue) && slots.hasRoomFor(queue.queue.plugin, now)) next = queue;
    }
    return next;
  }

  /** Does the node run tasks of the queue at all? */
  fits(slots: NodeSlots, queue: LiveQueue): boolean {
    return slots.fits(queue, () => queue.filter(this.#deps.attributes(slots.node)));
  }
}

/** What nodes have of it, in steps of its pass. */
function ahead({ active, queue }: LiveQueue): number {
  return active.size / queue.rules.weight;
}

function setOf<T>(map: Map<string, Set<T>>, key: string): Set<T> {
  let set = map.get(key);
  if (set === undefined) {
    set = new Set();
    map.set(key, set);
  }
  return set;
}
