import type { Recordable } from '@muster/platform/log';
import type { Write } from '@muster/store';
import type { NodeSlots } from '../assign/node-slots.js';
import { taskChanged } from '../events.js';
import { isReady, stepTask, type TaskEvent, type TaskRulesNow, type TaskState } from '../machine.js';
import { saveAttempt } from '../repository/writes.js';
import { isActive, isEnded, isWaiting, STATUS } from '../status.js';
import { type Ending, type LiveTask, NO_ENDING, stepWrite } from './live-task.js';
import { Orders } from './orders.js';

/**
 * What one moment changes: tasks step in memory, and the rows, events and messages that follow are collected here. None of
 * them leaves before the rows are stored.
 */
export class Turn {
  readonly now: number;
  /** Monotonic milliseconds. */
  readonly at: number;
  readonly writes: Write[] = [];
  readonly events: Recordable[] = [];
  readonly orders = new Map<NodeSlots, Orders>();
  /** Read of the store for this turn. */
  readonly loaded = new Map<string, LiveTask>();
  /** They are in memory until this turn is stored, and longer while a node has them. */
  readonly touched = new Set<LiveTask>();
  /** They have room again. */
  readonly freed = new Set<NodeSlots>();
  /** Those that others wait for, to be counted anew. */
  readonly recount: string[] = [];
  /** When a task is due. */
  wakeAt: number | null = null;

  /** Earlier turns changed it, and that is not stored. */
  readonly #isUnstored: (task: LiveTask) => boolean;

  constructor(now: number, at: number, isUnstored: (task: LiveTask) => boolean) {
    this.now = now;
    this.at = at;
    this.#isUnstored = isUnstored;
  }

  ordersFor(slots: NodeSlots): Orders {
    let orders = this.orders.get(slots);
    if (orders === undefined) {
      orders = new Orders();
      this.orders.set(slots, orders);
    }
    return orders;
  }

  /** One step of a task. Answers why a person may not do it; null: it was done, or meant nothing. */
  step(task: LiveTask, event: TaskEvent, ending: Ending = NO_ENDING): string | null {
    const before = task.state;
    const step = stepTask(before, event, rulesOf(task), this.now);
    if ('refused' in step) return step.refused;
    const { slots } = task;
    const { ref } = task;
    if (step.task !== before) this.#changed(task, event, before, step.task, ending);
    for (const effect of step.effects) {
      switch (effect) {
        case 'run':
          if (task.slots !== null) this.ordersFor(task.slots).assign.push({ task, attempt: step.task.attempt });
          break;
        case 'kill':
          if (slots !== null) this.ordersFor(slots).cancel.push(ref);
          break;
        case 'settle':
          if (slots !== null) this.ordersFor(slots).settled.push(ref);
          break;
        case 'wait':
          this.#wakeBy(step.task.notBefore ?? this.now);
          break;
        case 'recount':
          this.recount.push(task.id);
          break;
        case 'offer':
          break;
      }
    }
    return null;
  }

  #wakeBy(at: number | null): void {
    if (at !== null) this.wakeAt = Math.min(this.wakeAt ?? Number.POSITIVE_INFINITY, at);
  }

  #changed(task: LiveTask, event: TaskEvent, before: TaskState, after: TaskState, ending: Ending): void {
    const { queue } = task;
    const only = !this.touched.has(task) && !this.#isUnstored(task);
    this.touched.add(task);
    task.state = after;
    if (after.status !== before.status) {
      task.mtime = this.now;
      queue.moved(before.status, after.status);
    }
    if (isWaiting(after.status) && !isWaiting(before.status)) this.#wakeBy(task.ready.expiresAt);
    if (isReady(before) && !isActive(after.status)) queue.withdraw(task.id, task.lane);
    const left = isActive(before.status) && !isActive(after.status);
    if (left) {
      if (!isEnded(after.status)) this.#keepRun(task, event, before, after, ending);
      queue.end(task);
      if (task.slots !== null) this.freed.add(task.slots);
      task.takeBack();
      if (after.status > 0) queue.countEnded(this.at);
    }
    // What a run left behind stays with the task until it is to run again; then it is in its history.
    if (isEnded(before.status) && !isEnded(after.status)) this.#keepLastRun(task, before);
    if (left) task.ending = isEnded(after.status) ? ending : NO_ENDING;
    else if (!isEnded(after.status)) task.ending = NO_ENDING;
    this.writes.push(stepWrite(task, before, only));
    const change = taskChanged(queue, task.id, before, after);
    if (change !== null) this.events.push(change);
  }

  /** A run that is over while its task goes on. One that never began left nothing. */
  #keepRun(task: LiveTask, event: TaskEvent, before: TaskState, after: TaskState, ending: Ending): void {
    if (before.startedAt === null && leftNothing(ending) && after.failures === before.failures) return;
    const result = event.type === 'finished' ? event.result : null;
    // Short runs end before their start was told.
    const began = result === null ? null : this.now - result.durationMs;
    this.#keep(task, ending, {
      ...before,
      status: result?.status ?? STATUS.orphaned,
      reason: after.reason,
      startedAt: before.startedAt ?? began,
    });
  }

  /** That with which a task had ended that somebody wants to run again. */
  #keepLastRun(task: LiveTask, before: TaskState): void {
    if (before.startedAt !== null || !leftNothing(task.ending)) this.#keep(task, task.ending, before);
  }

  #keep({ id }: LiveTask, { complete, ...rest }: Ending, run: TaskState): void {
    const { attempt, node, status, reason, startedAt, endedAt } = run;
    this.writes.push(
      saveAttempt({
        task_id: id,
        attempt,
        node: node ?? '',
        status,
        reason,
        started_at: startedAt,
        ended_at: endedAt ?? this.now,
        ...rest,
      }),
    );
  }

  /** Those that may be assigned once this is stored; not those whose time is over, which are cancelled. */
  *offers(): Iterable<LiveTask> {
    for (const task of this.touched) {
      const { expiresAt } = task.ready;
      if (isReady(task.state) && (expiresAt === null || expiresAt > this.now)) yield task;
    }
  }
}

function leftNothing({ exit_code, signal }: Ending): boolean {
  return exit_code === null && signal === null;
}

function rulesOf({ queue, ready }: LiveTask): TaskRulesNow {
  const { retry, orphanRetries } = queue.queue.rules;
  return {
    retries: ready.retries ?? retry.limit,
    backoff: retry,
    orphanRetries,
  };
}
