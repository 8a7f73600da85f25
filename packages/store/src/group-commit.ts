import { type Clock, LoopTurn, TurnShare } from '@muster/base';
import type { Transaction } from 'kysely';
import { gather, numbersOf, weigh } from './batch.js';
import { GuardFailed, guardsOf, identityOf, isGuard, WrittenRows } from './guards.js';
import type { Batch, Lane, Outcome } from './lane.js';
import type { Limits } from './limits.js';
import { Pause } from './pause.js';
import type { Schema } from './schema.js';
import type { CommitReport, HandIn, StoreHealth, StoreLog, Write } from './types.js';
import { reasonOf, unavailable } from './unavailable.js';

/** Writes of one caller: stored together or not at all. */
interface Part {
  readonly kind: 'commit' | 'persist';
  readonly writes: readonly Write[];
  readonly guards: readonly Write[];
  readonly bytes: number;
  /** Told before `resolve`, as soon as the part is durable. */
  readonly stored: (() => void) | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

interface Transact {
  readonly kind: 'transact';
  readonly work: (trx: Transaction<Schema>) => Promise<Batch>;
  /** @param first The first of the numbers that it was given. */
  resolve(first: number): void;
  reject(error: unknown): void;
}

/** A part that is durable, whose caller does not know yet. */
interface Untold {
  readonly part: Part;
  /** The first of its numbers. */
  readonly first: number;
}

/** Parts whose callers are told before it is looked at how long that took. */
const TOLD_AT_ONCE = 16;

type Known = Exclude<Outcome, { kind: 'unknown' }>;

export interface GroupCommitOptions {
  readonly clock: Clock;
  /** Tells how long the database takes. A real one does not keep to a clock that tests move. */
  readonly databaseClock: Clock;
  readonly limits: Limits;
  readonly log: StoreLog;
  readonly observe: (report: CommitReport) => void;
  readonly refused: (error: unknown) => void;
  /** Called after each transaction that was stored: the database takes writes. */
  readonly stored?: () => void;
}

/**
 * One queue in front of one write lane. Whatever is handed in while a transaction is being stored goes into the
 * next one, in order. Those who wait for a transaction are told while the next one is being stored: what they do then
 * keeps nobody waiting.
 *
 * After an outage (`failed`) the batch's `commit` parts are rejected, its `persist` parts go back to the head of
 * the queue, and everything waits for the next attempt: 100 ms, doubling to 5 s. With nothing to store the
 * attempts go on as probes, so that `health` tells the truth without traffic.
 */
export class GroupCommit {
  readonly #lane: Lane;
  readonly #options: GroupCommitOptions;
  readonly #pause: Pause;
  /** For what those who are told do then. */
  readonly #share: TurnShare;
  #queue: (Part | Transact)[] = [];
  #untold: Untold[] = [];
  #pendingRows = 0;
  #pendingBytes = 0;
  #health: StoreHealth = { ok: true };
  /** When the latest outage began, by the monotonic clock. */
  #unwellMs = 0;
  /** Why nobody who can be refused is let in: the database does not answer. */
  #hung: Error | null = null;
  /** The same of the transaction under way alone. */
  #stalled: Error | null = null;
  /** Number of the last transaction tried. */
  #last = 0;
  #running: Promise<void> | null = null;
  #closing: Promise<void> | null = null;
  #closeBy = Number.POSITIVE_INFINITY;

  constructor(lane: Lane, options: GroupCommitOptions) {
    this.#lane = lane;
    this.#options = options;
    this.#pause = new Pause(options.clock, options.limits);
    this.#share = new TurnShare(LoopTurn.of(options.clock));
  }

  commit(writes: readonly Write[], stored?: () => void): Promise<void> {
    const hung = this.#hung ?? this.#stalled;
    if (hung !== null) return Promise.reject(unavailable(hung.message, hung));
    const { pendingRows, pendingBytes } = this.#options.limits;
    if (this.#pendingRows >= pendingRows || this.#pendingBytes >= pendingBytes) {
      return Promise.reject(unavailable(`${this.#pendingRows} rows are waiting already`));
    }
    return this.#part('commit', writes, stored);
  }

  persist(writes: readonly Write[]): Promise<void> {
    return this.#part('persist', writes);
  }

  transact<T>(work: (trx: Transaction<Schema>, write: HandIn) => Promise<T>): Promise<T> {
    const hung = this.#hung ?? this.#stalled;
    if (hung !== null) return Promise.reject(unavailable(hung.message, hung));
    return new Promise<T>((resolve, reject) => {
      let done: { readonly value: T; readonly writes: readonly Write[] } | undefined;
      this.#enqueue({
        kind: 'transact',
        work: async (trx) => {
          const writes: Write[] = [];
          done = { value: await work(trx, (more) => void writes.push(...more)), writes };
          return gather([writes]);
        },
        resolve: (first) => {
          if (done === undefined) return;
          this.#tellNumbers(done.writes, first);
          resolve(done.value);
        },
        reject,
      });
    });
  }

  health(): StoreHealth {
    return this.#health;
  }

  /**
   * The database does not answer: those who wait and have not been tried are refused, and so is whoever comes until
   * `resume`. What is under way is in doubt, and is told when that is decided.
   */
  hang(reason: string): void {
    this.#hung = new Error(reason);
    this.#unwell(this.#hung);
    this.#interrupted(this.#queue.splice(0), this.#hung);
    // Without an attempt nobody would find out that it is over.
    this.#running ??= this.#run();
  }

  /** It answers again: tries at once. */
  resume(): void {
    this.#hung = null;
    this.#pause.end();
  }

  /** Tries for `limits.closeMs`, if there is hope, to store what was handed in; what cannot be stored by then is rejected. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#closeBy = this.#options.clock.monotonic() + this.#options.limits.closeMs;
    this.#pause.end();
    await this.#running;
    await this.#lane.close();
  }

  #part(kind: 'commit' | 'persist', writes: readonly Write[], stored?: () => void): Promise<void> {
    return new Promise((resolve, reject) => {
      const bytes = weigh(writes);
      this.#pendingRows += writes.length;
      this.#pendingBytes += bytes;
      this.#enqueue({ kind, writes, guards: guardsOf(writes), bytes, stored, resolve, reject });
    });
  }

  /** Its caller is about to be told. */
  #settled<T extends Part | Transact>(entry: T): T {
    if (entry.kind !== 'transact') {
      this.#pendingRows -= entry.writes.length;
      this.#pendingBytes -= entry.bytes;
    }
    return entry;
  }

  #enqueue(entry: Part | Transact): void {
    if (this.#closing !== null) {
      this.#settled(entry).reject(unavailable('the store is closed'));
      return;
    }
    this.#queue.push(entry);
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    for (;;) {
      // What is handed in during the same turn of the event loop shares a commit, and sockets are read between two.
      await new Promise(setImmediate);
      if (this.#queue.length === 0 || !this.#health.ok) await this.#tell();
      if (!this.#health.ok) {
        if (this.#queue.length === 0 && this.#closing !== null) break;
        if (this.#options.clock.monotonic() >= this.#closeBy) {
          this.#giveUp(this.#health.reason);
          break;
        }
        await this.#pause.wait(this.#closeBy);
      } else if (this.#queue.length === 0) break;
      await this.#step();
    }
    this.#running = null;
  }

  /** In order, and within a share of each turn: a commit of thousands keeps nobody else waiting until all of them have gone on. */
  async #tell(): Promise<void> {
    let told = 0;
    for (const { part, first } of this.#untold.splice(0)) {
      if (told % TOLD_AT_ONCE === 0 && this.#share.used) await this.#share.free();
      this.#tellNumbers(part.writes, first);
      this.#settled(part).resolve();
      told += 1;
      // Whoever was told goes on now, and not before.
      if (told % TOLD_AT_ONCE === 0) await Promise.resolve();
    }
  }

  #tellNumbers(writes: readonly Write[], first: number): void {
    let next = first;
    for (const { statement, row, numbered } of writes) {
      if (statement.merge === undefined) continue;
      const number = next;
      next += statement.merge.numbers(row);
      if (numbered !== undefined) this.#harmless(() => numbered(number));
    }
  }

  async #step(): Promise<void> {
    const first = this.#queue[0];
    if (first === undefined) {
      const id = ++this.#last;
      this.#judge(await this.#known(id, await this.#lane.probe(id)));
    } else if (first.kind === 'transact') {
      this.#queue.shift();
      await this.#transact(first);
    } else {
      await this.#store(this.#take());
    }
  }

  async #transact(entry: Transact): Promise<void> {
    const id = ++this.#last;
    const telling = this.#tell();
    const outcome = await this.#known(id, await this.#lane.transact(id, entry.work));
    await telling;
    this.#judge(outcome);
    switch (outcome.kind) {
      case 'stored':
        return entry.resolve(outcome.first);
      case 'refused':
        return entry.reject(outcome.error);
      case 'guarded':
        return entry.reject(new GuardFailed(outcome.failed));
      case 'failed':
        return entry.reject(unavailable(reasonOf(outcome.error), outcome.error));
    }
  }

  /** Takes the next batch off the queue: parts up to the limits, at least one, none of which depends on another of them. */
  #take(): Part[] {
    const { batchRows, batchBytes } = this.#options.limits;
    const parts: Part[] = [];
    let rows = 0;
    let bytes = 0;
    const written = new WrittenRows();
    for (const entry of this.#queue) {
      if (entry.kind === 'transact') break;
      if (entry.guards.length > 0 && written.concern(entry.guards)) break;
      written.add(entry.writes);
      rows += entry.writes.length;
      bytes += entry.bytes;
      if (parts.length > 0 && (rows > batchRows || bytes > batchBytes)) break;
      parts.push(entry);
    }
    this.#queue.splice(0, parts.length);
    return parts;
  }

  /**
   * Stores parts in order. A refused batch is halved until the part that cannot be stored stands alone, so that
   * it harms nobody else.
   */
  async #store(parts: readonly Part[]): Promise<void> {
    const groups: (readonly Part[])[] = [parts];
    for (let group = groups.shift(); group !== undefined; group = groups.shift()) {
      const outcome = await this.#write(group);
      this.#judge(outcome);
      switch (outcome.kind) {
        case 'stored':
          this.#durable(group, outcome.first);
          break;
        case 'refused': {
          const only = group.length === 1 ? group[0] : undefined;
          if (only !== undefined) this.#refuse(only, outcome.error);
          else groups.unshift(group.slice(0, group.length >> 1), group.slice(group.length >> 1));
          break;
        }
        case 'guarded': {
          const rest = this.#withoutGuarded(group, outcome.failed);
          if (rest.length > 0) groups.unshift(rest);
          break;
        }
        case 'failed':
          // Also those behind: none may wait for the end of an outage because a transaction stands before it.
          this.#interrupted([...[group, ...groups].flat(), ...this.#queue.splice(0)], outcome.error);
          return;
      }
    }
  }

  /** Tells those whose guards do not hold; the others are left, and have not been stored. */
  #withoutGuarded(group: readonly Part[], failed: readonly Write[]): readonly Part[] {
    const identities = new Set(failed.map(identityOf));
    const rest: Part[] = [];
    for (const part of group) {
      const own = part.guards.filter((guard) => identities.has(identityOf(guard)));
      if (own.length === 0) rest.push(part);
      else this.#settled(part).reject(new GuardFailed(own));
    }
    return rest;
  }

  #durable(group: readonly Part[], first: number): void {
    let next = first;
    for (const part of group) {
      this.#untold.push({ part, first: next });
      next += numbersOf(part.writes);
    }
    for (const { stored } of group) this.#harmless(() => stored?.());
  }

  /** Whoever fails at what they do then keeps nobody else from being stored or told. */
  #harmless(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error }, 'somebody who was told that a commit is durable failed');
    }
  }

  async #write(group: readonly Part[]): Promise<Known> {
    const batch = gather(group.map((part) => part.writes));
    if (batch.length === 0) return { kind: 'stored', first: 0 };
    const id = ++this.#last;
    const startedAt = this.#options.clock.monotonic();
    const writing = this.#watched(this.#lane.write(id, batch));
    const telling = this.#tell();
    const outcome = await this.#known(id, await writing);
    const durationMs = this.#options.clock.monotonic() - startedAt;
    await telling;
    if (outcome.kind === 'stored') {
      const rows = batch.reduce((sum, { statement, rows }) => sum + (isGuard(statement) ? 0 : rows.length), 0);
      this.#options.observe({ parts: group.length, rows, durationMs });
    }
    return outcome;
  }

  /** Those who wait behind a transaction that takes too long are refused, as in an outage; it goes on. */
  async #watched(writing: Promise<Outcome>): Promise<Outcome> {
    const { databaseClock, limits } = this.#options;
    let over = false;
    const stall = (): void => {
      if (over) return;
      this.#stalled = new Error(`a commit has been under way for ${limits.stallMs / 1000} s`);
      this.#unwell(this.#stalled);
      this.#interrupted(this.#queue.splice(0), this.#stalled);
    };
    // After a busy while timers run before the answer that has arrived is read.
    const timer = databaseClock.after(limits.stallMs, () => setImmediate(stall));
    try {
      return await writing;
    } finally {
      over = true;
      timer.cancel();
      this.#stalled = null;
    }
  }

  /**
   * Whoever is told "not stored" must be able to believe it: nothing else is done until it is known. Those who came
   * later have not been tried: they are refused with every attempt, as in any outage, and need not wait for its end.
   */
  async #known(id: number, first: Outcome): Promise<Known> {
    let outcome = first;
    while (outcome.kind === 'unknown') {
      this.#unwell(outcome.error);
      this.#interrupted(this.#queue.splice(0), outcome.error);
      // Nothing is gained by trying until the time is up.
      if (outcome.forGood === true && this.#closing !== null) this.#closeBy = Number.NEGATIVE_INFINITY;
      if (this.#options.clock.monotonic() >= this.#closeBy) return { kind: 'failed', error: outcome.error };
      await this.#pause.wait(this.#closeBy);
      outcome = await this.#lane.outcome(id);
    }
    return outcome;
  }

  #judge(outcome: Known): void {
    if (outcome.kind === 'stored') this.#options.stored?.();
    if (outcome.kind === 'failed') this.#unwell(outcome.error);
    else if (!this.#health.ok) {
      const outageMs = Math.round(this.#options.clock.monotonic() - this.#unwellMs);
      this.#options.log.warn({ outage_ms: outageMs }, 'the database is back');
      this.#health = { ok: true };
      this.#pause.reset();
    }
  }

  #unwell(error: unknown): void {
    // Of what fails because the database hangs, that is the reason.
    const reason = this.#hung?.message ?? reasonOf(error);
    if (this.#health.ok) {
      this.#options.log.warn({ err: error }, `the database takes no writes: ${reason}`);
      this.#health = { ok: false, problem: 'unavailable', reason, since: this.#options.clock.now() };
      this.#unwellMs = this.#options.clock.monotonic();
    } else {
      this.#health = { ...this.#health, reason };
    }
  }

  #refuse(part: Part, error: unknown): void {
    if (part.kind === 'persist') {
      const tables = [...new Set(part.writes.map((write) => write.statement.table))];
      this.#options.log.error({ err: error, tables }, 'a transition can never be stored');
    }
    this.#settled(part).reject(error);
    if (part.kind === 'persist') this.#options.refused(error);
  }

  /** Transitions go back to the head of the queue, requests are refused. */
  #interrupted(parts: readonly (Part | Transact)[], error: unknown): void {
    const retained: Part[] = [];
    for (const part of parts) {
      if (part.kind === 'persist') retained.push(part);
      else this.#settled(part).reject(unavailable(reasonOf(error), error));
    }
    this.#queue = [...retained, ...this.#queue];
  }

  #giveUp(reason: string): void {
    const entries = this.#queue;
    this.#queue = [];
    for (const entry of entries) {
      this.#settled(entry).reject(unavailable(`the store was closed during an outage (${reason})`));
    }
  }
}
