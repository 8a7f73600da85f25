import type { Clock } from '@muster/base';
import { clearOutput } from '@muster/platform/output';
import { Upkeep } from '@muster/platform/upkeep';
import type { Schema, Store } from '@muster/store';
import type { Transaction } from 'kysely';
import { taskSubject } from './events.js';
import { TASK_LIMITS } from './limits.js';
import type { LiveQueue } from './queues/live-queue.js';
import { deleteTasks } from './repository/deleting.js';
import { STATUS } from './status.js';

export interface TaskRetentionDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Tasks that ended longer ago go, unless their queue says otherwise; 0: none. */
  readonly keepMs: number;
  readonly queues: () => Iterable<LiveQueue>;
  /** Whoever changes tasks: answers those that nobody changes, and leaves them alone from then on. */
  readonly beginDeleting: (ids: readonly string[]) => readonly string[];
  readonly undoDeleting: (ids: readonly string[]) => void;
  /** A round failed; the next one tries again. */
  readonly failed: (error: unknown) => void;
}

const PAUSE_MS = 60_000;
/** In one transaction, so that nobody is held up. */
const TASKS = 500;
const ENDED = [STATUS.orphaned, STATUS.cancelled, STATUS.terminated] as const;

type Trx = Transaction<Schema>;

/** Deletes tasks that ended long ago, those of deleted queues, what is left of deleted tasks, and old runs of schedules. */
export class TaskRetention {
  readonly #deps: TaskRetentionDeps;
  readonly #upkeep: Upkeep;

  constructor(deps: TaskRetentionDeps) {
    this.#deps = deps;
    const { clock, failed } = deps;
    this.#upkeep = new Upkeep({ clock, pauseMs: PAUSE_MS, round: () => this.prune(), failed });
  }

  start(): void {
    this.#upkeep.start();
  }

  stop(): Promise<void> {
    return this.#upkeep.stop();
  }

  /** One round. @throws MusterError `store_unavailable` */
  async prune(): Promise<void> {
    const { clock, keepMs, queues } = this.#deps;
    await this.#clearQueues();
    for (const live of [...queues()]) {
      const { keep } = live.queue.rules;
      const kept = keep === null ? keepMs : keep * 1000;
      if (kept > 0) await this.#pruneQueue(live, clock.now() - kept);
    }
    await this.#clearTasks();
    const now = clock.now();
    await this.#deps.store.transact(async (trx) => {
      await trx.deleteFrom('task_keys').where('until', '<', now).execute();
      const before = now - TASK_LIMITS.historyMs;
      await trx.deleteFrom('schedule_runs').where('at', '<', before).execute();
      await trx.deleteFrom('task_bulk_runs').where('ended_at', '<', before).execute();
    });
  }

  async #pruneQueue(live: LiveQueue, before: number): Promise<void> {
    for (;;) {
      if (this.#upkeep.stopped) return;
      const rows = await this.#deps.store.read
        .selectFrom('tasks')
        .select(['id', 'status'])
        .where('queue_id', '=', live.id)
        .where((eb) => eb.or([eb('status', '>', STATUS.running), eb('status', 'in', ENDED)]))
        .where('ended_at', '<', before)
        .limit(TASKS)
        .execute();
      if (rows.length === 0) return;
      const free = this.#deps.beginDeleting(rows.map(({ id }) => id));
      const gone = await this.#deleteEnded(free, before);
      for (const { status } of gone) live.moved(status, null);
      // Those that somebody changes just now are looked at in the next round.
      if (rows.length < TASKS || gone.length === 0) return;
    }
  }

  /** Those that still have ended: one may have been retried meanwhile. */
  async #deleteEnded(ids: readonly string[], before: number): Promise<readonly { readonly status: number }[]> {
    if (ids.length === 0) return [];
    const { store, undoDeleting } = this.#deps;
    let gone: readonly { readonly id: string; readonly status: number }[] = [];
    try {
      gone = await store.transact((trx) => deleteEnded(trx, ids, before));
      return gone;
    } finally {
      const deleted = new Set(gone.map(({ id }) => id));
      undoDeleting(ids.filter((id) => !deleted.has(id)));
    }
  }

  /** Their tasks, in steps; then nothing is left of them. */
  async #clearQueues(): Promise<void> {
    const { store } = this.#deps;
    for (const { queue_id } of await store.read.selectFrom('deleted_task_queues').selectAll().execute()) {
      for (let cleared = false; !cleared; ) {
        if (this.#upkeep.stopped) return;
        cleared = await store.transact((trx) => clearQueue(trx, queue_id));
      }
    }
  }

  async #clearTasks(): Promise<void> {
    const { store } = this.#deps;
    for (;;) {
      const rows = await store.read.selectFrom('deleted_tasks').selectAll().limit(TASKS).execute();
      if (rows.length === 0) return;
      for (const { task_id } of rows) {
        for (let cleared = false; !cleared; ) {
          if (this.#upkeep.stopped) return;
          cleared = await store.transact((trx) => clearTask(trx, task_id));
        }
      }
    }
  }
}

async function deleteEnded(
  trx: Trx,
  ids: readonly string[],
  before: number,
): Promise<readonly { readonly id: string; readonly status: number }[]> {
  const still = await trx
    .selectFrom('tasks')
    .select(['id', 'status'])
    .where('id', 'in', ids)
    .where('ended_at', '<', before)
    .where((eb) => eb.or([eb('status', '>', STATUS.running), eb('status', 'in', ENDED)]))
    .execute();
  await deleteTasks(
    trx,
    still.map(({ id }) => id),
  );
  return still;
}

/** Tasks that a node has are left until it has told how they ended. True when nothing is left. */
async function clearQueue(trx: Trx, queueId: string): Promise<boolean> {
  const rows = await trx
    .selectFrom('tasks')
    .select('id')
    .where('queue_id', '=', queueId)
    .where('status', 'not in', [STATUS.claimed, STATUS.running])
    .limit(TASKS)
    .execute();
  await deleteTasks(
    trx,
    rows.map(({ id }) => id),
  );
  if (rows.length === TASKS) return false;
  const left = await trx.selectFrom('tasks').select('id').where('queue_id', '=', queueId).executeTakeFirst();
  if (left === undefined) await trx.deleteFrom('deleted_task_queues').where('queue_id', '=', queueId).execute();
  return true;
}

/** True when nothing is left of the task. */
async function clearTask(trx: Trx, taskId: string): Promise<boolean> {
  if (!(await clearOutput(trx, taskSubject(taskId)))) return false;
  await trx.deleteFrom('task_attempts').where('task_id', '=', taskId).execute();
  await trx.deleteFrom('task_dependencies').where('task_id', '=', taskId).execute();
  await trx.deleteFrom('deleted_tasks').where('task_id', '=', taskId).execute();
  return true;
}
