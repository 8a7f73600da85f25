import type { Clock } from '@muster/base';
import type { Organization } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { queueChanged, queueCreated, queueRemoved } from '../events.js';
import type { Ids } from '../ids.js';
import { TASK_LIMITS } from '../limits.js';
import type { By, NewQueue, QueueChanges } from '../ports.js';
import { checkQueue } from '../queues/checks.js';
import { LiveQueue } from '../queues/live-queue.js';
import type { QueueRegistry } from '../queues/registry.js';
import { DEFAULT_RULES } from '../queues/rules.js';
import { queueRow } from '../queues/stored.js';
import { saveQueue } from '../repository/writes.js';
import type { AskedSecrets, SecretUse, TaskSecrets } from '../secrets/use.js';
import type { Queue, QueueRules } from '../types.js';
import type { Book } from './book.js';

export interface AdministrationDeps {
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly ids: () => Ids;
  readonly queues: QueueRegistry;
  readonly book: Book;
  /** Of tasks of queues that do not say otherwise. */
  readonly outputLimit: number;
  readonly secrets: TaskSecrets;
}

/** Makes, changes and deletes queues: one at a time, so that no two have one name. */
export class Administration {
  readonly #deps: AdministrationDeps;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: AdministrationDeps) {
    this.#deps = deps;
  }

  create(org: Organization, given: NewQueue, by: By): Promise<LiveQueue> {
    checkQueue(given);
    return this.#inTurn(async () => {
      const { recorder, clock, ids, queues, outputLimit } = this.#deps;
      this.#assertFree(org.id, given.name);
      if (queues.of(org.id).length >= TASK_LIMITS.queues) {
        throw new MusterError('too_many_queues', { limit: TASK_LIMITS.queues });
      }
      const { secrets: asked = null, ...rules } = given.rules;
      const secrets = await this.#used(org, asked, by);
      const now = clock.now();
      const queue: Queue = {
        id: ids().next(),
        orgId: org.id,
        name: given.name,
        plugin: given.plugin,
        threads: given.threads,
        state: given.state,
        rules: { ...DEFAULT_RULES, outputLimit, ...rules, secrets },
        createdAt: now,
        updatedAt: now,
      };
      const event = queueCreated(org, queue, by.identity.name);
      const used = this.#named(org, queue, by);
      await recorder.commit([saveQueue(queueRow(queue)), ...used, ...(by.record ?? [])], [event]);
      const live = new LiveQueue(org, queue, clock.monotonic());
      queues.add(live);
      return live;
    });
  }

  change(org: Organization, id: string, changes: QueueChanges, by: By): Promise<boolean> {
    checkQueue(changes);
    return this.#inTurn(async () => {
      const { recorder, clock, queues, book } = this.#deps;
      const live = this.#find(org, id);
      const before = live.queue;
      const { rules: { secrets: asked, ...rules } = {}, ...rest } = changes;
      const without: Queue = { ...before, ...rest, rules: { ...before.rules, ...rules } };
      const named = asked === undefined ? (before.rules.secrets?.named ?? null) : asked;
      const steered = asked !== undefined || differences(before, without).some((field) => STEERING.has(field));
      const secrets = steered ? await this.#used(org, named, by) : before.rules.secrets;
      const wanted: Queue = { ...without, rules: { ...without.rules, secrets } };
      const changed = differences(before, wanted);
      if (changed.length === 0) return false;
      if (wanted.name !== before.name) this.#assertFree(org.id, wanted.name);
      const queue = { ...wanted, updatedAt: clock.now() };
      const event = queueChanged(org, queue, changed, by.identity.name);
      const used = steered ? this.#named(org, queue, by) : [];
      await recorder.commit([saveQueue(queueRow(queue)), ...used, ...(by.record ?? [])], [event]);
      live.change(queue, clock.monotonic());
      if (queue.name !== before.name) queues.renamed(live, before.name);
      for (const lane of live.low()) void book.fill(live, lane);
      book.scheduler.workIn(live);
      book.look();
      return true;
    });
  }

  remove(
    org: Organization,
    id: string,
    how: { readonly force: boolean; readonly keepTasks: boolean },
    by: By,
  ): Promise<void> {
    return this.#inTurn(async () => {
      const { recorder, queues, book } = this.#deps;
      const live = this.#find(org, id);
      const { queue, active } = live;
      if (active.size > 0 && !how.force) throw new MusterError('queue_busy', { name: queue.name, tasks: active.size });
      // Nothing more of it is assigned; if it cannot be deleted, it goes on as before.
      book.scheduler.forgetQueue(live);
      await recorder.transact(async (trx, record, write) => {
        await trx.deleteFrom('task_queues').where('id', '=', queue.id).execute();
        await trx.deleteFrom('task_keys').where('queue_id', '=', queue.id).execute();
        if (!how.keepTasks) await trx.insertInto('deleted_task_queues').values({ queue_id: queue.id }).execute();
        record([queueRemoved(org, queue, by.identity.name)]);
        write(by.record ?? []);
      });
      queues.remove(live);
      await book.turn((turn) => {
        const reason = `its queue was deleted by ${by.identity.name}`;
        for (const task of [...book.tasks()]) if (task.queue === live) turn.step(task, { type: 'cancel', reason });
      });
    });
  }

  /** Whoever says what is given to what plugin on which nodes has to be able to use it. @throws MusterError `secret_forbidden` */
  async #used(org: Organization, named: AskedSecrets | null, { identity }: By): Promise<SecretUse | null> {
    if (named === null || Object.keys(named).length === 0) return null;
    const { principalId, name } = identity;
    await this.#deps.secrets.assertUsable(org, named, identity);
    return { named, by: { principalId, name } };
  }

  #named(org: Organization, { name, rules: { secrets } }: Queue, { identity }: By): Write[] {
    return secrets === null ? [] : this.#deps.secrets.used(org, secrets.named, identity, { queue: name });
  }

  #find(org: Organization, id: string): LiveQueue {
    const live = this.#deps.queues.find(org.id, id);
    if (live === undefined) throw new MusterError('not_found', { kind: 'queue', name: id });
    return live;
  }

  #assertFree(orgId: string, name: string): void {
    const other = this.#deps.queues.of(orgId).some(({ queue }) => queue.name === name);
    if (other) throw new MusterError('queue_exists', { name });
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** What decides where secrets of a queue go. */
const STEERING: ReadonlySet<string> = new Set<keyof Queue | keyof QueueRules>([
  'plugin',
  'nodes',
  'ignoreNodes',
  'writers',
]);

/** Names of what is not the same in both. */
function differences(a: Queue, b: Queue): string[] {
  const { rules: one, ...restOne } = a;
  const { rules: other, ...restOther } = b;
  const differs = (x: object, y: object): string[] =>
    Object.entries(y).flatMap(([name, value]) =>
      JSON.stringify(value) === JSON.stringify((x as Record<string, unknown>)[name]) ? [] : [name],
    );
  return [...differs(restOne, restOther), ...differs(one, other)];
}
