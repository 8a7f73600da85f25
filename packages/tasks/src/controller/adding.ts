import type { Clock } from '@muster/base';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Schema, Store, Write } from '@muster/store';
import type { Transaction } from 'kysely';
import { MusterError } from '../errors.js';
import { tasksAdded } from '../events.js';
import type { Ids } from '../ids.js';
import { TASK_LIMITS } from '../limits.js';
import { isReady, newTask } from '../machine.js';
import type { Added, By, NewTask, StoredAlong } from '../ports.js';
import type { ReadyTask } from '../queues/lane.js';
import type { LiveQueue } from '../queues/live-queue.js';
import { addDependency, addTask } from '../repository/writes.js';
import { assertPlace, placeOf, type TaskSecrets } from '../secrets/use.js';
import { STATUS } from '../status.js';
import type { TaskOptions } from '../types.js';

export interface AddingDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly ids: () => Ids;
  /** Most bytes of parameters. */
  readonly maxParams: number;
  readonly secrets: TaskSecrets;
  /** While tasks are stored for the first time. */
  readonly arriving: <T>(ids: readonly string[], stored: () => Promise<T>) => Promise<T>;
  /** They are stored, and may be assigned. */
  readonly offer: (queue: LiveQueue, tasks: readonly ReadyTask[]) => void;
  readonly due: (at: number) => void;
  readonly recount: (ids: readonly string[]) => void;
}

/** A task on its way into the store. */
interface Draft {
  readonly id: string;
  readonly params: string;
  readonly options: Partial<TaskOptions>;
  readonly waitsFor: number;
  readonly lane: string;
}

type Along = (added: readonly Added[]) => StoredAlong;

const NOTHING: StoredAlong = { writes: [], events: [] };

interface Storing {
  readonly queue: LiveQueue;
  readonly drafts: readonly Draft[];
  readonly by: By;
  readonly along: Along;
  readonly now: number;
}

/** Takes tasks into queues. */
export class Adding {
  readonly #deps: AddingDeps;

  constructor(deps: AddingDeps) {
    this.#deps = deps;
  }

  /** @throws MusterError see `TaskController.add`. */
  async add(
    org: Organization,
    queue: LiveQueue,
    tasks: readonly NewTask[],
    by: By,
    along: Along = () => NOTHING,
  ): Promise<readonly Added[]> {
    if (queue.queue.state === 'draining') throw new MusterError('queue_draining', { name: queue.queue.name });
    const now = this.#deps.clock.now();
    const waits = await this.#dependencies(org, tasks);
    await this.#assertSecrets(org, queue, tasks, by);
    const drafts = tasks.map((task, index) => this.#draft(queue, task, index, waits, by));
    const unique = drafts.some(({ options }) => options.unique != null);
    const storing = { queue, drafts, by, along, now };
    const ids = drafts.map(({ id }) => id);
    return this.#deps.arriving(ids, async () => {
      const added = unique ? await this.#storeUnique(storing) : await this.#store(storing);
      const created = drafts.filter((_, index) => added[index]?.created);
      this.#take(queue, created, by, now);
      return added;
    });
  }

  /** Whoever adds a task uses its secrets, whatever way they add it. @throws MusterError `secret_forbidden`, `secret_elsewhere` */
  async #assertSecrets(
    org: Organization,
    { queue }: LiveQueue,
    tasks: readonly NewTask[],
    { identity }: By,
  ): Promise<void> {
    const named: Record<string, string> = {};
    for (const { options } of tasks) {
      if (options?.secrets !== undefined) assertPlace(queue, options.place);
      for (const name of Object.values(options?.secrets ?? {})) named[name] = name;
    }
    await this.#deps.secrets.assertUsable(org, named, identity);
  }

  /** Each secret once for all tasks that are added with it at once. */
  #secretsUsed(queue: LiveQueue, drafts: readonly Draft[], { identity }: By): Write[] {
    const tasks = new Map<string, { readonly task: string; count: number }>();
    for (const { id, options } of drafts) {
      for (const name of new Set(Object.values(options.secrets?.named ?? {}))) {
        const known = tasks.get(name);
        if (known === undefined) tasks.set(name, { task: id, count: 1 });
        else known.count += 1;
      }
    }
    return [...tasks].flatMap(([name, { task, count }]) => {
      const detail = { queue: queue.queue.name, task, ...(count > 1 && { tasks: count }) };
      return this.#deps.secrets.used(queue.org, { [name]: name }, identity, detail);
    });
  }

  #draft(queue: LiveQueue, task: NewTask, index: number, waits: ReadonlyMap<string, number>, by: By): Draft {
    const { maxParams, ids } = this.#deps;
    const params = JSON.stringify(task.params);
    if (Buffer.byteLength(params) > maxParams) {
      throw new MusterError('invalid_field', {
        field: `tasks.${index}.params`,
        reason: `${Buffer.byteLength(params)} bytes as JSON; at most ${maxParams} (setting tasks.max_params)`,
      });
    }
    const { key } = queue.queue.rules;
    const value = key === null ? undefined : task.params[key.param];
    const lane = value === undefined || value === null ? '' : laneOf(value);
    const { secrets, place, ...asked } = task.options ?? {};
    const { principalId, name } = by.identity;
    const options: Partial<TaskOptions> = {
      ...asked,
      ...(asked.after && { after: [...new Set(asked.after)] }),
      ...(secrets && { secrets: { named: secrets, by: { principalId, name }, place: place ?? placeOf(queue.queue) } }),
    };
    const waitsFor = (options.after ?? []).reduce((sum, id) => sum + (waits.get(id) ?? 0), 0);
    return { id: ids().next(), params, options, waitsFor, lane };
  }

  /** Tasks that others wait for, and whether they have not succeeded yet: 1 or 0. */
  async #dependencies(org: Organization, tasks: readonly NewTask[]): Promise<ReadonlyMap<string, number>> {
    const asked = new Map<string, number>();
    for (const [index, { options }] of tasks.entries()) {
      const after = options?.after ?? [];
      if (after.length > TASK_LIMITS.after) {
        const reason = `it may wait for at most ${TASK_LIMITS.after} tasks`;
        throw new MusterError('invalid_field', { field: `tasks.${index}.after`, reason });
      }
      for (const id of after) if (!asked.has(id)) asked.set(id, index);
    }
    const waits = new Map<string, number>();
    const ids = [...asked.keys()];
    for (let from = 0; from < ids.length; from += TASK_LIMITS.after) {
      const rows = await this.#deps.store.read
        .selectFrom('tasks')
        .select(['id', 'status'])
        .where('org_id', '=', org.id)
        .where('id', 'in', ids.slice(from, from + TASK_LIMITS.after))
        .execute();
      for (const { id, status } of rows) waits.set(id, status === STATUS.succeeded ? 0 : 1);
    }
    for (const [id, index] of asked) {
      if (waits.has(id)) continue;
      throw new MusterError('invalid_field', { field: `tasks.${index}.after`, reason: `there is no task ${id}` });
    }
    return waits;
  }

  async #store({ queue, drafts, by, along, now }: Storing): Promise<Added[]> {
    const rows = drafts.flatMap((draft) => rowsOf(queue, draft, by, now));
    const added = drafts.map(({ id }) => ({ id, created: true }));
    const { writes, events } = along(added);
    const told = [...this.#events(queue, drafts, by), ...events];
    const used = this.#secretsUsed(queue, drafts, by);
    await this.#deps.recorder.commit([...rows, ...used, ...(by.record ?? []), ...writes], told);
    return added;
  }

  /** One after the other in a transaction: of two with the same key only the first is made. */
  #storeUnique({ queue, drafts, by, along, now }: Storing): Promise<Added[]> {
    return this.#deps.recorder.transact(async (trx, record, write) => {
      const added: Added[] = [];
      for (const draft of drafts) {
        const existing = await this.#keyTaken(trx, queue, draft, now);
        if (existing === null) write(rowsOf(queue, draft, by, now));
        added.push({ id: existing ?? draft.id, created: existing === null });
      }
      const created = drafts.filter((_, index) => added[index]?.created);
      const { writes, events } = along(added);
      write([...this.#secretsUsed(queue, created, by), ...(by.record ?? []), ...writes]);
      record([...this.#events(queue, created, by), ...events]);
      return added;
    });
  }

  /** Takes the key, unless it is taken: then by which task. */
  async #keyTaken(trx: Transaction<Schema>, queue: LiveQueue, draft: Draft, now: number): Promise<string | null> {
    const { unique } = draft.options;
    if (unique == null) return null;
    const row = await trx
      .selectFrom('task_keys')
      .select(['task_id', 'until'])
      .where('queue_id', '=', queue.id)
      .where('key', '=', unique.key)
      .executeTakeFirst();
    if (row !== undefined && row.until > now) return row.task_id;
    const taken = { task_id: draft.id, until: now + Math.round(unique.seconds * 1000) };
    await trx
      .insertInto('task_keys')
      .values({ queue_id: queue.id, key: unique.key, ...taken })
      .onConflict((conflict) => conflict.columns(['queue_id', 'key']).doUpdateSet(taken))
      .execute();
    return null;
  }

  #events(queue: LiveQueue, drafts: readonly Draft[], by: By) {
    if (drafts.length === 0) return [];
    const ids = drafts.map(({ id }) => id);
    return [tasksAdded({ org: queue.org, queueId: queue.id }, ids, by.identity.name)];
  }

  /** They are stored. */
  #take(queue: LiveQueue, drafts: readonly Draft[], by: By, now: number): void {
    const { offer, due, recount } = this.#deps;
    const ready: ReadyTask[] = [];
    const waiting: string[] = [];
    for (const draft of drafts) {
      const { id, params, options, lane } = draft;
      const state = newTask({ notBefore: options.notBefore ?? null, waitsFor: draft.waitsFor });
      queue.moved(null, state.status);
      if (options.expiresAt != null) due(options.expiresAt);
      if (state.notBefore !== null) due(state.notBefore);
      if (draft.waitsFor > 0) waiting.push(id);
      if (!isReady(state)) continue;
      ready.push({
        id,
        rank: -(options.priority ?? 0),
        lane,
        ctime: now,
        requester: by.identity.name,
        state,
        params: params.length <= TASK_LIMITS.paramsInMemory ? params : null,
        retries: options.retries ?? null,
        timeout: options.timeout ?? null,
        expiresAt: options.expiresAt ?? null,
        secrets: options.secrets ? Object.keys(options.secrets.named) : null,
      });
    }
    offer(queue, ready);
    // What they wait for may have succeeded while they were stored.
    if (waiting.length > 0) recount(waiting);
  }
}

function rowsOf(queue: LiveQueue, draft: Draft, by: By, now: number): Write[] {
  const { priority = 0, notBefore = null, expiresAt = null, after = [], ...options } = draft.options;
  const { status } = newTask({ notBefore, waitsFor: draft.waitsFor });
  const task = addTask({
    id: draft.id,
    org_id: queue.org.id,
    queue_id: queue.id,
    params: draft.params,
    options: Object.keys(options).length === 0 ? null : JSON.stringify(options),
    lane: draft.lane,
    requester: by.identity.name,
    ctime: now,
    mtime: now,
    status,
    rank: -priority,
    not_before: notBefore,
    expires_at: expiresAt,
    waits_for: draft.waitsFor,
  });
  return [task, ...after.map((id) => addDependency({ task_id: draft.id, after_id: id }))];
}

/** Values of any kind have a lane: texts their own, others that of their JSON. */
function laneOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.slice(0, TASK_LIMITS.name);
}
