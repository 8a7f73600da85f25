import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@muster/base';
import { limitReason } from '@muster/plugin/contract';
import type { AgentMessage, AssignedTask, TaskNews, TaskOrder, TaskRef } from '@muster/wire';
import { NEWS_RESEND_MS, SETTLED_REMEMBERED, WORKER_ANSWER_MS } from '../limits.js';
import type { AgentLog } from '../logging.js';
import { type Held, newHeld } from './held.js';
import type { HostEvents, TaskHosts } from './hosts.js';
import { attemptKey } from './key.js';
import { type AttemptEffect, type AttemptEvent, type End, type Ending, endNews, stepAttempt } from './machine.js';
import { inlineBytes, mostHeld } from './news.js';
import { Permission } from './permission.js';
import type { Offer, OfferedRun } from './plugins.js';
import type { HeldAttempt } from './protocol.js';
import { Reports, type TaskLink } from './reports.js';
import { Slots } from './slots.js';

export interface TaskSlotSetup {
  readonly clock: Clock;
  readonly logger: AgentLog;
  readonly link: TaskLink;
  readonly hosts: (events: HostEvents) => TaskHosts;
  /** What the node offers, as its configuration is now. */
  readonly offer: Offer;
  /** Between TERM and KILL, in milliseconds. */
  readonly graceMs: () => number;
  /** What a task is given of secrets, by what its plugin finds them as. @throws FileUnavailable */
  readonly secrets: (
    ref: TaskRef,
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, string>>;
}

/**
 * The agent's place for tasks of queues: as many at a time as its owner says. What waits for a slot is known here alone,
 * what runs is with hosts that outlive the agent, and how it ended is told until the server has it.
 */
export class TaskSlot {
  readonly #setup: TaskSlotSetup;
  readonly #hosts: TaskHosts;
  readonly #held = new Map<string, Held>();
  readonly #slots = new Slots();
  #settled = new Set<string>();
  #settledBefore = new Set<string>();
  readonly #reports: Reports;
  readonly #permission: Permission;
  #offer: Offer;
  /** Nodes that never ran a task say nothing of them unless they are asked. */
  #offers = false;
  #ready = false;
  #early: TaskOrder[] = [];
  #filling = false;
  #stopped = false;

  constructor(setup: TaskSlotSetup) {
    this.#setup = setup;
    this.#offer = setup.offer;
    this.#offers = setup.offer.plugins.size > 0;
    this.#permission = new Permission(setup.clock, () => this.#fillSoon());
    this.#reports = new Reports({
      link: setup.link,
      clock: setup.clock,
      waiting: () => this.#slots.waiting,
      rewind: () => this.#hosts.rewind(),
    });
    this.#hosts = setup.hosts({
      held: (attempt) => this.#adopt(attempt),
      news: (news) => this.#heard(news),
      ending: (ref, ending) => this.#apply(ref, { type: 'ending', ending }),
      output: (piece) => {
        if (this.#held.has(attemptKey(piece))) this.#reports.piece(piece);
      },
      refused: (ref, reason) => this.#apply(ref, { type: 'refused', reason }),
      gone: (ref, reason) => this.#hostGone(ref, reason),
    });
  }

  /** Finds what an earlier agent left running. Until then nothing is taken, and nothing is told. */
  async begin(): Promise<void> {
    await this.#hosts.find();
    if (this.#stopped) return;
    this.#hosts.configured([...this.#offer.plugins.values()].map(({ plugin }) => plugin));
    this.#ready = true;
    this.connected();
    for (const order of this.#early.splice(0)) this.receive(order);
  }

  #adopt({ id, attempt, plugin, ending, end, timeoutMs, graceMs }: HeldAttempt): void {
    const held = this.#hold({ id, attempt }, plugin, null);
    this.#slots.occupy(held);
    held.started = true;
    held.state = { kind: 'running' };
    if (timeoutMs !== null) this.#expectEnd(held, timeoutMs + graceMs, limitReason(timeoutMs));
    if (ending !== null) this.#applyTo(held, { type: 'ending', ending });
    if (end !== null) this.#heard(end);
  }

  #hold(ref: TaskRef, plugin: string, task: AssignedTask | null): Held {
    const held = newHeld(ref, plugin, task, this.#now());
    this.#held.set(attemptKey(ref), held);
    return held;
  }

  #now(): number {
    return this.#setup.clock.monotonic();
  }

  // --- the server's orders

  receive(order: TaskOrder): void {
    if (this.#stopped) return;
    if (!this.#ready) return void this.#early.push(order);
    switch (order.type) {
      case 'task_orders':
        for (const ref of order.settled) this.#apply(ref, { type: 'settled' });
        for (const ref of order.recall) this.#apply(ref, { type: 'recall', reason: 'the server asked for it' });
        for (const ref of order.cancel) this.#cancel(ref);
        for (const task of order.assign) this.#assign(task);
        return this.#permission.answered();
      case 'task_output_stored':
        return this.#stored(order);
      case 'task_census':
        this.#reports.slotsDue();
        return this.#tellInventory();
    }
  }

  #tellInventory(): void {
    this.#permission.askAgain();
    this.#reports.inventoryDue();
  }

  /** What is not here cannot be ended: the server sees that by what is. */
  #cancel(ref: TaskRef): void {
    if (this.#held.has(attemptKey(ref))) return this.#apply(ref, { type: 'cancel' });
    this.#reports.inventoryDue();
  }

  #assign(task: AssignedTask): void {
    const key = attemptKey(task);
    if (this.#held.has(key) || this.#settled.has(key) || this.#settledBefore.has(key)) return;
    const held = this.#hold(task, task.plugin, task);
    const refusal = this.#refusal(task);
    if (refusal !== null) return this.#applyTo(held, { type: 'recall', reason: refusal });
    this.#slots.wait(held);
    this.#endEarlierOf(task);
    this.#fillSoon();
  }

  #refusal({ plugin }: AssignedTask): string | null {
    if (!this.#offer.plugins.has(plugin)) return `this node has no plugin '${plugin}'`;
    const most = mostHeld(this.#setup.link.bodyLimit);
    return this.#held.size > most ? `this node has ${most} tasks already` : null;
  }

  /** The server has given an earlier attempt up; a task never runs twice at a time. */
  #endEarlierOf({ id, attempt }: AssignedTask): void {
    if (attempt === 1) return;
    for (const { ref } of this.#held.values()) {
      if (ref.id === id && ref.attempt < attempt) this.#apply(ref, { type: 'cancel' });
    }
  }

  /** In one go for all that happens in one turn. */
  #fillSoon(): void {
    if (this.#filling) return;
    this.#filling = true;
    queueMicrotask(() => {
      this.#filling = false;
      if (this.#stopped || !this.#permission.given) return;
      this.#slots.fill(this.#offer, (held) => {
        this.#applyTo(held, { type: 'slot', fetch: (held.task?.secrets ?? []).length > 0 });
      });
    });
  }

  // --- the machine of an attempt

  #apply(ref: TaskRef, event: AttemptEvent): void {
    const held = this.#held.get(attemptKey(ref));
    if (held !== undefined) return this.#applyTo(held, event);
    // The server has done with what is not known here; a host may know it.
    if (event.type === 'settled') this.#hosts.settle(ref);
  }

  #applyTo(held: Held, event: AttemptEvent): void {
    const { state, effects } = stepAttempt(held.state, event);
    held.state = state;
    for (const effect of effects) this.#do(held, effect);
  }

  #do(held: Held, effect: AttemptEffect): void {
    const { ref } = held;
    switch (effect.type) {
      case 'wait':
        this.#slots.wait(held);
        return this.#fillSoon();
      case 'fetch':
        return void this.#fetch(held);
      case 'drop':
        held.fetching?.abort();
        held.fetching = null;
        return;
      case 'run':
        return this.#run(held);
      case 'kill':
        this.#hosts.kill(ref);
        return this.#expectEnd(held, this.#setup.graceMs(), null);
      case 'free':
        this.#slots.free(held);
        held.patience?.cancel();
        return this.#fillSoon();
      case 'tell':
        return this.#tellEnd(held, effect.end);
      case 'settle':
        return this.#hosts.settle(ref);
      case 'forget':
        held.patience?.cancel();
        this.#held.delete(attemptKey(ref));
        return this.#rememberSettled(attemptKey(ref));
    }
  }

  async #fetch(held: Held): Promise<void> {
    const fetching = new AbortController();
    held.fetching = fetching;
    held.begunAt = this.#now();
    let event: AttemptEvent;
    try {
      const values = await this.#setup.secrets(held.ref, held.task?.secrets ?? [], fetching.signal);
      if (held.fetching !== fetching) return;
      held.secrets = Object.fromEntries(values);
      event = { type: 'fetched' };
    } catch (error) {
      if (held.fetching !== fetching) return;
      event = { type: 'end', end: this.#failed(held, error instanceof Error ? error.message : String(error)) };
    }
    held.fetching = null;
    this.#applyTo(held, event);
  }

  #failed({ begunAt }: Held, reason: string): End {
    const durationMs = Math.round(this.#now() - begunAt);
    const nothing = { retry: false, exitCode: null, signal: null, stdout: null, stderr: null };
    return { event: 'finished', result: { status: 2, reason, bytes: null, durationMs, ...nothing } };
  }

  #run(held: Held): void {
    const { task, secrets } = held;
    held.secrets = null;
    const offered = this.#offer.plugins.get(held.plugin);
    if (task === null || offered === undefined) return;
    held.begunAt = this.#now();
    const timeoutMs = limitOf(task, offered);
    const graceMs = this.#setup.graceMs();
    this.#hosts.run({
      task,
      plugin: offered.plugin,
      timeoutMs,
      graceMs,
      inlineBytes: inlineBytes(this.#setup.link.bodyLimit),
      ...(secrets && { secrets }),
    });
    if (timeoutMs !== null) this.#expectEnd(held, timeoutMs + graceMs, limitReason(timeoutMs));
  }

  /** A worker process that is blocked ends nothing, also not when a time limit is over: it is ended itself. */
  #expectEnd(held: Held, withinMs: number, reason: string | null): void {
    if (this.#offer.plugins.get(held.plugin)?.plugin.contract !== 'module') return;
    held.patience?.cancel();
    held.patience = this.#setup.clock.after(withinMs + WORKER_ANSWER_MS, () => {
      held.doomed = reason;
      this.#hosts.destroy(held.ref);
    });
  }

  /** At least the latest SETTLED_REMEMBERED, at most twice as many. */
  #rememberSettled(key: string): void {
    this.#settled.add(key);
    if (this.#settled.size < SETTLED_REMEMBERED) return;
    this.#settledBefore = this.#settled;
    this.#settled = new Set();
  }

  // --- what hosts tell

  #heard(news: TaskNews): void {
    const held = this.#held.get(attemptKey(news));
    if (held === undefined) return;
    if (news.event === 'started' || news.event === 'progress') {
      held.started = true;
      if (held.state.kind === 'running' || held.state.kind === 'killing') this.#reports.tell(news);
      return;
    }
    this.#applyTo(held, { type: 'end', end: news });
  }

  #hostGone(ref: TaskRef, reason: string): void {
    const held = this.#held.get(attemptKey(ref));
    if (held === undefined) return;
    const durationMs = Math.round(this.#now() - held.begunAt);
    const bytes = held.stored;
    const killed: Ending = { event: 'cancelled', forced: true, bytes, durationMs };
    const module = this.#offer.plugins.get(held.plugin)?.plugin.contract === 'module';
    const nothing = { retry: false, exitCode: null, signal: null, stdout: null, stderr: null };
    const failed: End = {
      event: 'finished',
      result: { status: 2, reason: held.doomed ?? reason, bytes, durationMs, ...nothing },
    };
    // A plugin that ends its own process has failed; of a program nobody can tell how it ended.
    this.#applyTo(held, { type: 'host_gone', lost: module ? failed : { event: 'lost', reason }, killed });
  }

  // --- news and output on their way to the server

  #tellEnd(held: Held, end: End): void {
    held.toldAt = this.#now();
    this.#reports.tell(endNews(held.ref, end));
  }

  #stored({ id, attempt, stream, offset }: Extract<TaskOrder, { type: 'task_output_stored' }>): void {
    const held = this.#held.get(attemptKey({ id, attempt }));
    if (held === undefined) return;
    held.stored = { stdout: 0, stderr: 0, ...held.stored };
    held.stored[stream] = Math.max(held.stored[stream], offset);
    this.#hosts.stored({ id, attempt }, stream, offset);
  }

  /** No heartbeat of the server: what runs goes on, what waits does not begin. */
  serverLost(): void {
    this.#permission.withdraw();
    for (const held of this.#held.values()) this.#applyTo(held, { type: 'withdrawn' });
  }

  serverBack(): void {
    this.#permission.ask();
    this.connected();
  }

  /** A new connection, or the server is back: all that it may not have is told again. */
  connected(): void {
    if (!this.#ready) return;
    if (this.#offers) this.#reports.slotsDue();
    if (this.#offers || this.#held.size > 0) this.#tellInventory();
    this.#reports.drop();
    for (const held of this.#held.values()) this.#tellAgain(held);
    this.#hosts.rewind();
  }

  #tellAgain(held: Held): void {
    if (held.state.kind === 'ended') return this.#tellEnd(held, held.state.end);
    if (held.started && held.state.kind !== 'discarded') this.#reports.tell({ ...held.ref, event: 'started' });
  }

  /** Once per heartbeat interval. */
  tick(): void {
    if (!this.#ready || this.#held.size === 0) return;
    const before = this.#now() - NEWS_RESEND_MS;
    for (const held of this.#held.values()) {
      if (held.state.kind === 'ended' && held.toldAt < before) this.#tellEnd(held, held.state.end);
    }
    this.#reports.inventoryDue();
  }

  /** The next message; null: there is none. Nothing that was taken waits: it is told again if it is lost. */
  take(): AgentMessage | null {
    if (!this.#ready) return null;
    const message = this.#reports.take(this.#offer, this.#held.values());
    if (message?.type === 'task_inventory') this.#permission.told();
    return message;
  }

  /** The news that wait: the last words of an agent that is stopped. */
  takeNews(): AgentMessage | null {
    return this.#reports.takeNews();
  }

  // --- the owner

  /** It has attempts that began, of which the server may know nothing: another agent may not find them any more. */
  get hasBegun(): boolean {
    return [...this.#held.values()].some(({ state }) => !(state.kind === 'ended' && state.end.event === 'returned'));
  }

  /** A changed configuration. What runs is not touched. */
  reload(offer: Offer): void {
    if (isDeepStrictEqual(offer, this.#offer)) return;
    this.#offer = offer;
    this.#offers ||= offer.plugins.size > 0;
    if (!this.#ready) return;
    this.#hosts.configured([...offer.plugins.values()].map(({ plugin }) => plugin));
    if (this.#offers) this.#reports.slotsDue();
    for (const held of this.#held.values()) this.#giveBackUnknown(held);
    this.#fillSoon();
  }

  #giveBackUnknown(held: Held): void {
    if (this.#offer.plugins.has(held.plugin)) return;
    this.#applyTo(held, { type: 'recall', reason: `this node has no plugin '${held.plugin}' any more` });
  }

  /** The agent ends: what waits is given back, what runs goes on without it. */
  stop(): void {
    for (const held of this.#held.values())
      this.#applyTo(held, { type: 'recall', reason: 'the agent of the node was stopped' });
    this.#stopped = true;
    this.#permission.withdraw();
    for (const { patience } of this.#held.values()) patience?.cancel();
    this.#reports.stop();
    this.#hosts.close();
  }
}

function limitOf({ timeoutSeconds }: AssignedTask, { timeoutMs }: OfferedRun): number | null {
  const asked = timeoutSeconds === null ? null : timeoutSeconds * 1000;
  if (asked === null || timeoutMs === null) return asked ?? timeoutMs;
  return Math.min(asked, timeoutMs);
}
