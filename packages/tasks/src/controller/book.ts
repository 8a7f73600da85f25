import type { Clock, Timer } from '@muster/base';
import type { NodeRegistry } from '@muster/nodes';
import type { Recordable, Recorder } from '@muster/platform/log';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store, Write } from '@muster/store';
import type { NodeSlots } from '../assign/node-slots.js';
import { Scheduler } from '../assign/scheduler.js';
import { TASK_LIMITS } from '../limits.js';
import type { Lane, ReadyTask } from '../queues/lane.js';
import type { LiveQueue } from '../queues/live-queue.js';
import { endingOf, paramsOf, type ReadyRow, readReady, readyTask, type StandingRow } from '../repository/ready.js';
import { isActive, isEnded, type StatusName, statusName } from '../status.js';
import { LiveTask } from './live-task.js';
import { type Orders, sendOrders } from './orders.js';
import { Outbox } from './outbox.js';
import { Turn } from './turn.js';

export interface BookDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly logger: LayerLog;
  readonly nodes: Pick<NodeRegistry, 'send' | 'attributes'>;
  /** Tasks succeeded, or are to run again: those that wait for them are counted anew. */
  readonly recount: (ids: readonly string[]) => void;
  /** A task is due then. */
  readonly due: (at: number) => void;
  /** They are stored, and no node has them any more. */
  readonly left: (tasks: Iterable<LiveTask>) => void;
  /** A task ended, and that is stored. */
  readonly ended: (status: StatusName) => void;
}

/**
 * The tasks in memory, and every change of one: step, match what became possible, store all of it in one commit, then act
 * (architecture: save, then act). A task is here while a node has it, and while a change of it is not stored; so what is
 * read of the store is never older than what is known, if these are left out.
 */
export class Book {
  readonly scheduler: Scheduler;
  readonly #deps: BookDeps;
  readonly #tasks = new Map<string, LiveTask>();
  /** How many changes of a task are not stored. */
  readonly #unstored = new Map<LiveTask, number>();
  /** Tasks that are being stored for the first time: who reads them already must not take them before they are counted. */
  readonly #arriving = new Set<string>();
  /** Of each read under way the tasks that left meanwhile: what it reads of them may be old. */
  readonly #reads = new Set<Set<string>>();
  /** Tasks that are being deleted, or were: nothing is done to them any more. Ids never come again; the oldest are forgotten. */
  readonly #deleted = new Set<string>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #outbox = new Outbox((slots, orders) => this.#send(slots, orders, new Map()));
  #wake: Timer | null = null;
  #stopped = false;

  constructor(deps: BookDeps) {
    this.#deps = deps;
    const { clock, nodes } = deps;
    this.scheduler = new Scheduler({
      attributes: (node) => nodes.attributes(node),
      now: () => clock.monotonic(),
    });
  }

  get(id: string): LiveTask | undefined {
    return this.#tasks.get(id);
  }

  /** A change of it is not stored: what is said of it now may not be true after a crash. */
  isUnstored(id: string): boolean {
    const task = this.#tasks.get(id);
    return task !== undefined && this.#unstored.has(task);
  }

  get stopped(): boolean {
    return this.#stopped;
  }

  tasks(): Iterable<LiveTask> {
    return this.#tasks.values();
  }

  /** A node has it, as the store says. */
  restore(task: LiveTask): void {
    this.#tasks.set(task.id, task);
    task.queue.begin(task);
  }

  /** Something changed of which more may follow: matches. */
  look(): void {
    void this.turn(() => undefined);
  }

  /**
   * Resolves when what `work` changed is stored, with `record`; false when it never will be. What became possible by it is
   * assigned in the same commit.
   */
  turn(work: (turn: Turn) => void, record: readonly Write[] = [], told: readonly Recordable[] = []): Promise<boolean> {
    if (this.#stopped) return Promise.resolve(false);
    const { clock } = this.#deps;
    const turn = new Turn(clock.now(), clock.monotonic(), (task) => this.#unstored.has(task));
    work(turn);
    for (const slots of turn.freed) this.scheduler.roomAt(slots);
    for (const { queue } of turn.touched) if (queue.waiting) this.scheduler.workIn(queue);
    this.#match(turn);
    return this.#flush(turn, record, told);
  }

  #match(turn: Turn): void {
    const wakeMs = this.scheduler.match(({ queue, task: ready, slots }) => {
      const task = new LiveTask(queue, ready, turn.now);
      this.#tasks.set(task.id, task);
      task.giveTo(slots);
      turn.step(task, { type: 'assign', node: slots.node.name });
      queue.begin(task);
      const lane = queue.lane(ready.lane, false);
      if (lane.low) void this.fill(queue, lane);
    });
    if (wakeMs !== null) this.#wakeIn(wakeMs);
  }

  #wakeIn(ms: number): void {
    this.#wake?.cancel();
    this.#wake = this.#deps.clock.after(ms, () => {
      this.#wake = null;
      this.look();
    });
  }

  #flush(turn: Turn, record: readonly Write[], told: readonly Recordable[]): Promise<boolean> {
    const writes = [...turn.writes, ...record];
    const events = [...turn.events, ...told];
    for (const task of turn.touched) {
      this.#tasks.set(task.id, task);
      this.#unstored.set(task, (this.#unstored.get(task) ?? 0) + 1);
    }
    if (writes.length + events.length === 0) {
      this.#leave(turn);
      return Promise.resolve(true);
    }
    const stored = this.#deps.recorder.persist(writes, events).then(
      () => {
        this.#settle(turn);
        return true;
      },
      (error: unknown) => {
        if (!this.#stopped) this.#deps.logger.error({ err: error }, 'transitions of tasks could not be stored');
        return false;
      },
    );
    return stored;
  }

  #settle(turn: Turn): void {
    const left: LiveTask[] = [];
    for (const task of turn.touched) {
      const open = (this.#unstored.get(task) ?? 1) - 1;
      if (open > 0) {
        this.#unstored.set(task, open);
        continue;
      }
      this.#unstored.delete(task);
      if (!isActive(task.state.status)) left.push(task);
    }
    for (const task of left) {
      this.#tasks.delete(task.id);
      for (const seen of this.#reads) seen.add(task.id);
    }
    if (this.#stopped) return;
    const storedMs = this.#deps.clock.monotonic() - turn.at;
    for (const slots of turn.orders.keys()) slots.stored(storedMs);
    this.#leave(turn);
    for (const { state } of left) if (isEnded(state.status)) this.#deps.ended(statusName(state.status));
    this.#deps.left(left);
    // Not before it can be read: it may be due already.
    if (turn.wakeAt !== null) this.#deps.due(turn.wakeAt);
    if (turn.recount.length > 0) this.#deps.recount(turn.recount);
    let offered = false;
    for (const task of turn.offers()) {
      // It may have been changed again meanwhile: then that turn offers it.
      if (this.#tasks.has(task.id)) continue;
      const { ready, state, queue } = task;
      this.offer(queue, { ...ready, state });
      offered = true;
    }
    if (offered) this.look();
  }

  /** While these are stored for the first time. */
  async arriving<T>(ids: readonly string[], stored: () => Promise<T>): Promise<T> {
    for (const id of ids) this.#arriving.add(id);
    try {
      return await stored();
    } finally {
      for (const id of ids) this.#arriving.delete(id);
    }
  }

  isArriving(id: string): boolean {
    return this.#arriving.has(id);
  }

  /** It may be assigned, and is stored. `look` matches it. */
  offer(queue: LiveQueue, task: ReadyTask): void {
    if (queue.removed) return;
    const lane = queue.offer(task);
    this.scheduler.workIn(queue);
    if (lane.low) void this.fill(queue, lane);
  }

  /** Messages to nodes. */
  #leave(turn: Turn): void {
    const long: string[] = [];
    for (const { assign } of turn.orders.values()) {
      for (const {
        task: { ready },
      } of assign)
        if (ready.params === null) long.push(ready.id);
    }
    if (long.length === 0) this.#outbox.put(turn.orders);
    else {
      this.#watch(
        paramsOf(this.#deps.store.read, long).then(
          (params) => {
            for (const [slots, orders] of turn.orders) this.#send(slots, orders, params);
          },
          // The node does not have them; its next inventory brings them up again.
          (error: unknown) => this.#deps.logger.warn({ err: error }, 'parameters of tasks could not be read'),
        ),
      );
    }
  }

  #send(slots: NodeSlots, orders: Orders, long: ReadonlyMap<string, string>): void {
    if (this.#stopped) return;
    sendOrders(this.#deps.nodes, slots, orders, ({ ready }) => ready.params ?? long.get(ready.id) ?? '{}');
  }

  // --- reading

  /**
   * Reads tasks of the store. Answered are those of which nothing newer is known, and those in memory as they are there.
   * @throws MusterError `store_unavailable`.
   */
  async read<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly outdated: (id: string) => boolean }> {
    const left = new Set<string>();
    this.#reads.add(left);
    try {
      const value = await work();
      return { value, outdated: (id) => left.has(id) || this.#arriving.has(id) || this.#deleted.has(id) };
    } finally {
      this.#reads.delete(left);
    }
  }

  /** Answers those of these that nobody is changing or deleting: they are to be deleted, and nothing is done to them from now on. */
  beginDeleting(ids: readonly string[]): string[] {
    const free = ids.filter((id) => !this.#tasks.has(id) && !this.#deleted.has(id));
    for (const id of free) this.#deleted.add(id);
    for (const oldest of this.#deleted) {
      if (this.#deleted.size <= TASK_LIMITS.deletedRemembered) break;
      this.#deleted.delete(oldest);
    }
    return free;
  }

  /** They are not deleted after all. */
  undoDeleting(ids: readonly string[]): void {
    for (const id of ids) this.#deleted.delete(id);
  }

  isDeleted(id: string): boolean {
    return this.#deleted.has(id);
  }

  /** A row that was just read as a task to be stepped in this turn; the one in memory where there is one. */
  task(turn: Turn, queue: LiveQueue, row: ReadyRow | StandingRow): LiveTask {
    const known = this.#tasks.get(row.id) ?? turn.loaded.get(row.id);
    if (known !== undefined) return known;
    const task = new LiveTask(queue, readyTask(row), row.mtime);
    turn.loaded.set(row.id, task);
    // One that waits for its first run has nothing else.
    if ('complete' in row) task.ending = endingOf(row);
    return task;
  }

  /** Reads the next tasks of a lane. */
  async fill(queue: LiveQueue, lane: Lane): Promise<void> {
    if (this.#stopped || lane.filling) return;
    const after = lane.beginFill();
    const limit = TASK_LIMITS.window - lane.size;
    const { id: queueId } = queue;
    const { sort } = queue.queue.rules;
    const filling = this.read(() => readReady(this.#deps.store.read, { queueId, lane: lane.name, sort }, after, limit));
    this.#watch(filling);
    try {
      const { value, outdated } = await filling;
      const fresh = value.filter(({ id }) => !outdated(id) && !this.#tasks.has(id));
      queue.filled(lane, fresh, value.length < limit ? null : (value.at(-1) ?? null));
      this.scheduler.workIn(queue);
      // All that was read may be in memory already: then there may be more behind it.
      if (lane.low && !this.#stopped) await this.fill(queue, lane);
      else this.look();
    } catch (error) {
      lane.abandonFill();
      if (this.#stopped) return;
      this.#deps.logger.warn({ err: error, queue: queueId }, 'the next tasks of a queue could not be read');
      this.#deps.clock.after(RETRY_MS, () => void this.fill(queue, lane));
    }
  }

  #watch(work: Promise<unknown>): void {
    const watched = work.then(
      () => undefined,
      () => undefined,
    );
    this.#pending.add(watched);
    void watched.then(() => this.#pending.delete(watched));
  }

  /** No turn begins any more, and no message leaves: what is stored goes on with the next server. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#wake?.cancel();
    while (this.#pending.size > 0) await Promise.all(this.#pending);
  }
}

/** Until a read that failed is tried again. */
const RETRY_MS = 1000;
