import type { Clock } from '@muster/base';
import type { NodeSlots } from '../assign/node-slots.js';
import { STATUS } from '../status.js';
import type { Book } from './book.js';
import type { LiveTask } from './live-task.js';
import type { TaskNodes } from './nodes.js';

export interface RebalanceDeps {
  readonly book: Book;
  readonly nodes: Pick<TaskNodes, 'all'>;
  readonly clock: Clock;
}

/** How long a task waits on a node before another one that is idle may have it. */
const PATIENCE_MS = 2000;

/** Takes tasks that wait on a slow node back, where another one would begin them at once. */
export class Rebalance {
  readonly #deps: RebalanceDeps;

  constructor(deps: RebalanceDeps) {
    this.#deps = deps;
  }

  round(): void {
    const { book, nodes, clock } = this.#deps;
    const idle = [...nodes.all()].filter((slots) => slots.free > 0);
    if (idle.length === 0) return;
    const before = clock.now() - PATIENCE_MS;
    const late: LiveTask[] = [];
    for (const task of book.tasks()) {
      const { slots, state } = task;
      const waits = state.status === STATUS.claimed && !state.cancelling && task.mtime <= before;
      if (waits && slots !== null && this.#wanted(idle, slots, task)) late.push(task);
    }
    if (late.length === 0) return;
    const room = idle.reduce((sum, slots) => sum + slots.free, 0);
    void book.turn((turn) => {
      for (const task of late.slice(0, room)) if (task.slots !== null) turn.ordersFor(task.slots).recall.push(task.ref);
    });
  }

  #wanted(idle: readonly NodeSlots[], has: NodeSlots, { queue }: LiveTask): boolean {
    const { book, clock } = this.#deps;
    const at = clock.monotonic();
    return idle.some(
      (slots) =>
        slots !== has &&
        slots.node.org.id === has.node.org.id &&
        book.scheduler.fits(slots, queue) &&
        slots.hasRoomFor(queue.queue.plugin, at),
    );
  }
}
