import type { AgentMessage, AssignedTask, HeldState, ServerMessage, TaskNews, TaskRef, TaskResult } from '@muster/wire';
import type { Random } from '../kernel/random.js';
import { Process, type Timeline } from '../kernel/timeline.js';
import type { Trace } from '../kernel/trace.js';
import type { Ledger } from './ledger.js';

/** What a node runs tasks with, and how long its plugin takes. */
export interface NodePlan {
  readonly name: string;
  readonly max: number;
  readonly plugins: readonly string[];
  /** Milliseconds, on average. */
  readonly runMs: number;
}

export interface NodeWorld {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly trace: Trace;
  readonly ledger: Ledger;
  /** To the server, if it can be reached. */
  readonly toServer: (machine: Machine, message: AgentMessage) => void;
}

interface Held extends TaskRef {
  state: HeldState;
  readonly queue: string;
  news: TaskNews | null;
}

/**
 * A node: hosts that run tasks and outlive the agent, and the agent, which tells the server what its hosts say and hands on what
 * the server says. It does what the contract of messages between server and agent asks of one.
 */
export class Machine {
  readonly plan: NodePlan;
  agent: Process | null = null;
  #hosts: Process;
  incarnation = '';
  readonly #world: NodeWorld;
  readonly #held = new Map<string, Held>();
  #lives = 0;
  /** The agent ended in order, with nothing that has begun: the next one goes on under its incarnation. */
  #clean = false;

  constructor(world: NodeWorld, plan: NodePlan) {
    this.#world = world;
    this.plan = plan;
    this.#hosts = new Process(`${plan.name} hosts`, world.timeline);
  }

  get name(): string {
    return this.plan.name;
  }

  get holds(): number {
    return this.#held.size;
  }

  start(): Process {
    if (!this.#clean) this.#lives += 1;
    this.#clean = false;
    this.incarnation = `${this.name}-${this.#lives}`;
    this.agent = new Process(`${this.name} agent`, this.#world.timeline);
    return this.agent;
  }

  /** The agent alone: its hosts go on. What waits for a slot is with the agent. */
  kill(): void {
    this.agent?.die();
    this.agent = null;
    for (const one of this.#held.values()) if (one.state === 'waiting') this.#held.delete(one.id);
  }

  /** The agent ends in order: what has not begun goes back. */
  stop(): void {
    if (this.agent === null) return;
    const waiting = [...this.#held.values()].filter(({ state }) => state === 'waiting');
    for (const one of waiting) this.#end(one, { event: 'returned', reason: 'the agent is stopped' });
    if (waiting.length > 0) this.#tell(waiting);
    this.#say({ type: 'stopping' });
    // What has begun may be gone by then, with all that is known of it.
    const keeps = [...this.#held.values()].every(({ news }) => news?.event === 'returned');
    this.kill();
    this.#clean = keeps;
  }

  /** Everything on it: nothing of a task is left. `orderly`: the agent was told before. */
  reboot(orderly: boolean): void {
    if (orderly) this.stop();
    else this.kill();
    this.#hosts.die();
    for (const one of this.#held.values()) if (one.state === 'running') this.#world.ledger.stopped(one);
    this.#held.clear();
    this.#hosts = new Process(`${this.name} hosts`, this.#world.timeline);
  }

  /** The connection is new: who we are, and what we have. */
  greet(): void {
    const { max, plugins } = this.plan;
    this.#say({
      type: 'task_slots',
      max,
      plugins: plugins.map((name) => ({ name, contract: 'module', concurrency: null })),
      activequeues: [],
      ignorequeues: [],
    });
    this.#tell([...this.#held.values()]);
    this.inventory();
  }

  inventory(): void {
    this.#say({
      type: 'task_inventory',
      held: [...this.#held.values()].map(({ id, attempt, state }) => ({ id, attempt, state })),
    });
  }

  /** Once an interval. */
  beat(): void {
    this.#say({ type: 'heartbeat', state: 'ready', jobId: null, last: null });
    if (this.#held.size === 0) return;
    this.#tell([...this.#held.values()]);
    this.inventory();
  }

  receive(message: ServerMessage): void {
    if (message.type === 'task_census') this.greet();
    if (message.type !== 'task_orders') return;
    for (const ref of message.settled) if (this.#present(ref)?.state === 'ended') this.#held.delete(ref.id);
    for (const task of message.assign) this.#assign(task);
    for (const ref of message.recall) this.#recall(ref);
    for (const ref of message.cancel) this.#cancel(ref);
    this.#begin();
  }

  #present({ id, attempt }: TaskRef): Held | undefined {
    const held = this.#held.get(id);
    return held?.attempt === attempt ? held : undefined;
  }

  #assign(task: AssignedTask): void {
    const { id, attempt } = task;
    // A later attempt than the one that it has: that one does not count any more.
    if ((this.#held.get(id)?.attempt ?? 0) >= attempt) return;
    this.#held.set(id, { id, attempt, state: 'waiting', queue: task.queue.name, news: null });
  }

  #begin(): void {
    let running = [...this.#held.values()].filter(({ state }) => state === 'running').length;
    const began: Held[] = [];
    for (const one of this.#held.values()) {
      if (running >= this.plan.max) break;
      if (one.state !== 'waiting') continue;
      running += 1;
      one.state = 'running';
      this.#world.ledger.began(this.name, one);
      one.news = { id: one.id, attempt: one.attempt, event: 'started' };
      began.push(one);
      const takesMs = this.#world.random.around(this.plan.runMs);
      this.#hosts.clock.after(takesMs, () => this.#finish(one, Math.round(takesMs)));
    }
    if (began.length > 0) this.#tell(began);
  }

  #finish(one: Held, durationMs: number): void {
    if (this.#held.get(one.id) !== one || one.state !== 'running') return;
    const { random, ledger } = this.#world;
    const status = random.chance(0.2) ? random.pick([2, 2, 44]) : 1;
    const text = `${one.id} ${one.attempt}`;
    const result: TaskResult = {
      status,
      retry: status !== 1 && random.chance(0.3),
      reason: status === 1 ? null : 'it failed',
      exitCode: status === 1 ? 0 : 1,
      signal: null,
      stdout: text,
      stderr: null,
      bytes: null,
      durationMs,
    };
    ledger.finished(one, status);
    this.#end(one, { event: 'finished', result });
    this.#tell([one]);
    if (this.agent !== null) this.#begin();
  }

  #recall(ref: TaskRef): void {
    const one = this.#present(ref);
    if (one?.state !== 'waiting') return;
    this.#end(one, { event: 'returned', reason: 'it was asked for' });
    this.#tell([one]);
  }

  #cancel(ref: TaskRef): void {
    const one = this.#present(ref);
    if (one === undefined || one.state === 'ended') return;
    if (one.state === 'running') this.#world.ledger.stopped(one);
    const forced = this.#world.random.chance(0.3);
    this.#end(one, { event: 'cancelled', forced, bytes: null, durationMs: 1 });
    this.#tell([one]);
  }

  #end(one: Held, what: DistributiveOmit<TaskNews, 'id' | 'attempt'>): void {
    one.state = 'ended';
    one.news = { id: one.id, attempt: one.attempt, ...what } as TaskNews;
  }

  #tell(held: readonly Held[]): void {
    const news = held.flatMap((one) => one.news ?? []);
    if (news.length > 0) this.#say({ type: 'task_news', news });
  }

  #say(message: AgentMessage): void {
    if (this.agent !== null) this.#world.toServer(this, message);
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;
