import type { AgentMessage, AssignedTask, HeldState, TaskHappening, TaskNews, TaskOrder, TaskRef } from '@muster/wire';

/** What each simulated node offers, and how long its tasks take. */
export interface TaskLoadOptions {
  readonly plugin: string;
  /** Tasks at one time. */
  readonly slots: number;
  /** How long each task takes; 0: it ends as soon as it has begun. */
  readonly runMs: number;
}

interface Held extends TaskRef {
  state: HeldState;
  /** How it ended, until that is settled. */
  end: TaskNews | null;
  toldAt: number;
  timer: NodeJS.Timeout | null;
}

/** News of one message; a few hundred of them stay far below what a message may have. */
const NEWS_AT_ONCE = 500;
/** What was told and is not settled after so long is told again. */
const TELL_AGAIN_MS = 10_000;

/** The tasks of one simulated node. Each of them succeeds after the same time, and is run by nothing. */
export class TaskLoad {
  readonly #options: TaskLoadOptions;
  readonly #send: (message: AgentMessage) => void;
  readonly #held = new Map<string, Held>();
  #waiting: Held[] = [];
  #running = 0;
  #news: TaskNews[] = [];
  #telling = false;

  constructor(options: TaskLoadOptions, send: (message: AgentMessage) => void) {
    this.#options = options;
    this.#send = send;
  }

  /** On every connection: what the node offers, what it has, and what it may have told in vain. */
  connected(): void {
    const { plugin, slots } = this.#options;
    const offered = { name: plugin, contract: 'module', concurrency: null } as const;
    this.#send({ type: 'task_slots', max: slots, plugins: [offered], activequeues: [], ignorequeues: [] });
    this.#inventory();
    this.#tellAgain(0);
  }

  /** With each heartbeat. */
  beat(): void {
    if (this.#held.size === 0) return;
    this.#inventory();
    this.#tellAgain(TELL_AGAIN_MS);
  }

  receive(order: TaskOrder): void {
    switch (order.type) {
      case 'task_census':
        return this.connected();
      case 'task_output_stored':
        return;
      case 'task_orders':
        for (const ref of order.settled) this.#forget(ref);
        for (const ref of order.recall) this.#recall(ref);
        for (const ref of order.cancel) this.#cancel(ref);
        for (const task of order.assign) this.#assign(task);
        this.#fill();
    }
  }

  #inventory(): void {
    const held = [...this.#held.values()].map(({ id, attempt, state }) => ({ id, attempt, state }));
    this.#send({ type: 'task_inventory', held });
  }

  #tellAgain(afterMs: number): void {
    const before = performance.now() - afterMs;
    for (const held of this.#held.values()) {
      if (held.end === null || held.toldAt > before) continue;
      held.toldAt = performance.now();
      this.#tell(held.end);
    }
  }

  #assign({ id, attempt }: AssignedTask): void {
    if (this.#held.has(keyOf({ id, attempt }))) return;
    const held: Held = { id, attempt, state: 'waiting', end: null, toldAt: 0, timer: null };
    this.#held.set(keyOf(held), held);
    this.#waiting.push(held);
  }

  #fill(): void {
    let begun = 0;
    for (; begun < this.#waiting.length && this.#running < this.#options.slots; begun += 1) {
      const held = this.#waiting[begun];
      if (held?.state === 'waiting') this.#begin(held);
    }
    this.#waiting.splice(0, begun);
  }

  #begin(held: Held): void {
    const { runMs } = this.#options;
    held.state = 'running';
    this.#running += 1;
    this.#tell({ id: held.id, attempt: held.attempt, event: 'started' });
    if (runMs === 0) return this.#end(held, succeeded(0));
    held.timer = setTimeout(() => {
      this.#end(held, succeeded(runMs));
      this.#fill();
    }, runMs);
  }

  #end(held: Held, happening: TaskHappening): void {
    if (held.state === 'running') this.#running -= 1;
    if (held.timer !== null) clearTimeout(held.timer);
    held.timer = null;
    held.state = 'ended';
    held.end = { id: held.id, attempt: held.attempt, ...happening };
    held.toldAt = performance.now();
    this.#tell(held.end);
  }

  #recall(ref: TaskRef): void {
    const held = this.#held.get(keyOf(ref));
    if (held?.state === 'waiting') this.#end(held, { event: 'returned', reason: 'the server asked for it' });
  }

  #cancel(ref: TaskRef): void {
    const held = this.#held.get(keyOf(ref));
    if (held === undefined) return this.#inventory();
    if (held.state !== 'ended') this.#end(held, { event: 'cancelled', forced: false, bytes: null, durationMs: 0 });
  }

  #forget(ref: TaskRef): void {
    const held = this.#held.get(keyOf(ref));
    if (held?.state === 'ended') this.#held.delete(keyOf(ref));
  }

  /** What happens in one turn is one message. */
  #tell(news: TaskNews): void {
    this.#news.push(news);
    if (this.#telling) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      while (this.#news.length > 0) this.#send({ type: 'task_news', news: this.#news.splice(0, NEWS_AT_ONCE) });
    });
  }
}

function keyOf({ id, attempt }: TaskRef): string {
  return `${id}/${attempt}`;
}

function succeeded(durationMs: number): TaskHappening {
  const nothing = { reason: null, exitCode: null, signal: null, stdout: null, stderr: null, bytes: null };
  return { event: 'finished', result: { status: 1, retry: false, ...nothing, durationMs } };
}
