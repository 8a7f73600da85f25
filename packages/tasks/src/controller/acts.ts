import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Store } from '@muster/store';
import { tasksRemoved } from '../events.js';
import { TASK_LIMITS } from '../limits.js';
import type { TaskEvent } from '../machine.js';
import type { Acted, ActedBy, TaskAction } from '../ports.js';
import type { LiveQueue } from '../queues/live-queue.js';
import type { QueueRegistry } from '../queues/registry.js';
import { deleteTasks } from '../repository/deleting.js';
import {
  blockedTasks,
  countDependencies,
  dependentsOf,
  dueTasks,
  expiredTasks,
  nextTime,
  type ReadyRow,
  type StandingRow,
  standingRows,
} from '../repository/ready.js';
import { isActive, STATUS } from '../status.js';
import type { Book } from './book.js';
import type { LiveTask } from './live-task.js';
import type { Turn } from './turn.js';

export interface ActsDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly book: Book;
  readonly queues: QueueRegistry;
}

/** Until tasks whose time has come, and that could not be changed, are looked at again. */
const PATIENCE_MS = 1000;

/** Why nothing is done to tasks any more. */
export const STOPPING = 'the server is being stopped';

/** What people and time do to tasks that no node has, and to those that one has. */
export class Acts {
  readonly #deps: ActsDeps;
  #counting: Promise<void> = Promise.resolve();

  constructor(deps: ActsDeps) {
    this.#deps = deps;
  }

  /** See `TaskController.act`. */
  async act(org: Organization, ids: readonly string[], action: TaskAction, by: ActedBy): Promise<readonly Acted[]> {
    const acted: Acted[] = [];
    for (let from = 0; from < ids.length; from += TASK_LIMITS.actedAtOnce) {
      const some = [...new Set(ids.slice(from, from + TASK_LIMITS.actedAtOnce))];
      const record = from === 0 ? by : { ...by, record: [] };
      acted.push(
        ...(action === 'remove' ? await this.#remove(org, some, record) : await this.#step(org, some, action, record)),
      );
    }
    return acted;
  }

  async #step(
    org: Organization,
    ids: readonly string[],
    action: Exclude<TaskAction, 'remove'>,
    by: ActedBy,
  ): Promise<Acted[]> {
    const rows = await this.#rows(org.id, ids);
    const refused = new Map<string, string | null>();
    const event = eventOf(action, by);
    const answers = (): Acted[] => ids.map((id) => ({ id, refused: refused.get(id) ?? null }));
    const stored = await this.#deps.book.turn((turn) => {
      for (const id of ids) {
        const task = this.#task(turn, rows.get(id), id, org.id);
        refused.set(id, typeof task === 'string' ? task : (tooLate(task, action, turn.now) ?? turn.step(task, event)));
      }
      // Where all was refused there is nothing that was done.
      if (![...refused.values()].some((why) => why === null)) return;
      turn.writes.push(...(by.record ?? []), ...(by.along?.(answers()) ?? []));
    });
    // What it waits for was not looked at while it waited for nothing.
    if (action === 'retry' || action === 'release') await this.recount(ids);
    return stored ? answers() : ids.map((id) => ({ id, refused: STOPPING }));
  }

  /** Those that are gone with the answer, unless a node has them. */
  async #remove(org: Organization, ids: readonly string[], by: ActedBy): Promise<Acted[]> {
    const { recorder, book, queues } = this.#deps;
    const rows = await this.#rows(org.id, ids);
    const refused = new Map<string, string | null>();
    const free = new Set(book.beginDeleting([...rows.keys()]));
    const gone: StandingRow[] = [];
    for (const id of ids) {
      const row = rows.get(id);
      const busy = book.get(id);
      if (row !== undefined && free.has(id)) gone.push(row);
      else if (busy === undefined) refused.set(id, 'it does not exist');
      else if (isActive(busy.state.status)) refused.set(id, 'a node has it; cancel it first');
      else refused.set(id, 'it is just being changed; try again');
    }
    const answers = ids.map((id) => ({ id, refused: refused.get(id) ?? null }));
    if (gone.length === 0) return answers;
    // Not to be assigned while they are deleted.
    for (const row of gone) queues.get(row.queue_id)?.withdraw(row.id, row.lane);
    const perQueue = grouped(gone, ({ queue_id }) => queue_id);
    const stored = recorder.transact(async (trx, record, write) => {
      await deleteTasks(
        trx,
        gone.map(({ id }) => id),
      );
      for (const [queueId, tasks] of perQueue) {
        record([
          tasksRemoved(
            { org, queueId },
            tasks.map(({ id }) => id),
          ),
        ]);
      }
      write([...(by.record ?? []), ...(by.along?.(answers) ?? [])]);
    });
    await stored.catch((error: unknown) => {
      book.undoDeleting([...free]);
      throw error;
    });
    for (const row of gone) queues.get(row.queue_id)?.moved(row.status, null);
    return answers;
  }

  /** As stored, and not older than what is in memory. @param orgId Null: of any organization. */
  async #rows(orgId: string | null, ids: readonly string[]): Promise<ReadonlyMap<string, StandingRow>> {
    const { book, store } = this.#deps;
    const found = new Map<string, StandingRow>();
    let wanted = ids;
    while (wanted.length > 0) {
      const asked = wanted;
      const { value, outdated } = await book.read(() => standingRows(store.read, orgId, asked));
      for (const row of value) if (!outdated(row.id)) found.set(row.id, row);
      // One that is just being added is there in a moment; to wait for it would be to wait for a disk.
      wanted = asked.filter((id) => outdated(id) && !book.isArriving(id) && !book.isDeleted(id));
    }
    return found;
  }

  #task(turn: Turn, row: StandingRow | undefined, id: string, orgId: string): LiveTask | string {
    const { book, queues } = this.#deps;
    const known = book.get(id);
    if (known !== undefined && known.queue.org.id === orgId) return known;
    if (row === undefined || book.isDeleted(id)) return 'it does not exist';
    const queue = queues.get(row.queue_id);
    return queue === undefined ? 'its queue was deleted' : book.task(turn, queue, row);
  }

  /** Tasks succeeded, or are to run again, or are new: those that wait are counted anew. */
  async recountAfter(ids: readonly string[]): Promise<void> {
    const { store } = this.#deps;
    if (!this.#someWait()) return;
    const dependents = await dependentsOf(store.read, ids);
    await this.recount(dependents.map(({ id }) => id));
  }

  #someWait(): boolean {
    for (const { counts } of this.#deps.queues.all()) if (counts.blocked + counts.held > 0) return true;
    // A task that succeeded once, and waits for others, may be waiting to be retried; it is counted then.
    return false;
  }

  /**
   * How many of the tasks that each of these waits for have not succeeded. One count at a time: what an earlier one found must
   * not come after what a later one did.
   */
  recount(ids: readonly string[]): Promise<void> {
    const counted = this.#counting.then(() => this.#recount(ids));
    this.#counting = counted.catch(() => undefined);
    return counted;
  }

  async #recount(ids: readonly string[]): Promise<void> {
    const { store, queues, book } = this.#deps;
    for (let from = 0; from < ids.length; from += TASK_LIMITS.actedAtOnce) {
      const some = ids.slice(from, from + TASK_LIMITS.actedAtOnce);
      const waits = await countDependencies(store.read, some);
      const rows = await this.#rows(null, some);
      await book.turn((turn) => {
        for (const row of rows.values()) {
          const queue = queues.get(row.queue_id);
          if (queue === undefined || book.isDeleted(row.id)) continue;
          turn.step(book.task(turn, queue, row), { type: 'counted', waitsFor: waits.get(row.id) ?? 0 });
        }
      });
    }
  }

  /** Tasks whose time has come. Answers when to look again; null: nothing waits for a time. */
  async timePassed(now: number): Promise<number | null> {
    const { store, book } = this.#deps;
    for (;;) {
      const due = await book.read(() => dueTasks(store.read, now, TASK_LIMITS.actedAtOnce));
      const expired = await book.read(() => expiredTasks(store.read, now, TASK_LIMITS.actedAtOnce));
      const stored = await book.turn((turn) => {
        this.#stepAll(turn, expired, { type: 'expired' });
        this.#stepAll(turn, due, { type: 'due' });
      });
      const full = Math.max(due.value.length, expired.value.length) === TASK_LIMITS.actedAtOnce;
      if (!stored) return null;
      if (full) continue;
      const next = await nextTime(store.read);
      // What is being changed just now, and what has no queue any more, is not looked at again and again.
      return next !== null && next <= now ? now + PATIENCE_MS : next;
    }
  }

  #stepAll(
    turn: Turn,
    { value, outdated }: { readonly value: readonly ReadyRow[]; readonly outdated: (id: string) => boolean },
    event: TaskEvent,
  ): void {
    const { book, queues } = this.#deps;
    for (const row of value) {
      const queue = queues.get(row.queue_id);
      // What changed while it was read is looked at again when its own time comes.
      if (queue !== undefined && !outdated(row.id)) turn.step(book.task(turn, queue, row), event);
    }
  }

  /** At the start: tasks that wait for others that have succeeded meanwhile. */
  async recountAll(queue: LiveQueue): Promise<void> {
    let after = '';
    while (queue.counts.blocked > 0) {
      const rows = await blockedTasks(this.#deps.store.read, queue.id, after, TASK_LIMITS.actedAtOnce);
      const last = rows.at(-1);
      if (last === undefined) return;
      await this.recount(rows.map(({ id }) => id));
      after = last.id;
    }
  }
}

/** One that was to begin by a time that is past would be cancelled again. */
function tooLate({ ready: { expiresAt } }: LiveTask, action: TaskAction, now: number): string | null {
  if (action !== 'retry' || expiresAt === null || expiresAt > now) return null;
  return `it was to begin by ${new Date(expiresAt).toISOString()}; add it again`;
}

function eventOf(action: Exclude<TaskAction, 'remove'>, by: ActedBy): TaskEvent {
  const { name } = by.identity;
  switch (action) {
    case 'cancel':
      return { type: 'cancel', reason: `cancelled by ${name}` };
    case 'hold':
      return { type: 'hold', code: by.code ?? STATUS.held, reason: `held by ${name}` };
    case 'release':
    case 'retry':
      return { type: action };
  }
}

function grouped<T>(all: readonly T[], keyOf: (one: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(keyOf(one));
    if (group === undefined) groups.set(keyOf(one), [one]);
    else group.push(one);
  }
  return groups;
}
