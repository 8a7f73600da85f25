import { createHash } from 'node:crypto';
import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { PushStarter } from '@muster/push';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { StoredAlong, TaskController } from '../ports.js';
import { isEnded, statusName } from '../status.js';
import { taskStatuses } from './repository.js';
import type { Schedule, Work } from './types.js';

/** What a run became. */
export interface RunStatus {
  readonly status: string;
  readonly ended: boolean;
}

export interface RunsDeps {
  readonly read: Kysely<Schema>;
  readonly tasks: Pick<TaskController, 'add'>;
  readonly push: PushStarter;
  readonly auth: Pick<Auth, 'organizations'>;
}

/** What was started. */
export interface Started {
  readonly run: string;
  /** False: it had been started before, and `along` was not stored. */
  readonly stored: boolean;
}

/** For how long a time that was run is known, besides what the schedule itself remembers: as far as a clock is set back. */
const KEY_SECONDS = 86_400;

/** Starts what schedules run, and knows what became of it. */
export class Runs {
  readonly #deps: RunsDeps;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
  }

  /**
   * Stores the task or the push job together with what `along` answers.
   * @param dueAt Of one time there is one run, whatever happens; null: somebody wants one now.
   * @throws MusterError as when it is added or started by hand.
   */
  start(
    schedule: Schedule,
    work: Work,
    as: Identity,
    { dueAt, along }: { readonly dueAt: number | null; readonly along: (run: string) => StoredAlong },
  ): Promise<Started> {
    const key = dueAt === null ? null : `schedule/${schedule.id}/${dueAt}`;
    return work.kind === 'task'
      ? this.#addTask(schedule.org, work, as, key, along)
      : this.#startJob(schedule, work, as, key, along);
  }

  async #addTask(
    org: Organization,
    { queueId, params, options }: Extract<Work, { kind: 'task' }>,
    as: Identity,
    key: string | null,
    along: (run: string) => StoredAlong,
  ): Promise<Started> {
    const { tasks, auth } = this.#deps;
    const unique = key === null ? null : { key, seconds: KEY_SECONDS };
    const by = { identity: as, record: [auth.organizations.present(org)] };
    const task = { params, options: { ...options, unique } };
    const [added] = await tasks.add(org, queueId, [task], by, ([one]) => along(one?.id ?? ''));
    if (added === undefined) throw new Error('a task was neither added nor refused');
    return { run: added.id, stored: true };
  }

  /** What others agreed to is that it runs at its times, not whenever somebody wants it to. */
  async #startJob(
    { org, name, agreement }: Schedule,
    { job }: Extract<Work, { kind: 'push' }>,
    as: Identity,
    key: string | null,
    along: (run: string) => StoredAlong,
  ): Promise<Started> {
    const { push } = this.#deps;
    const mark = key === null ? {} : { mark: createHash('sha256').update(key).digest().subarray(0, 10) };
    const { id, created } = await push.start(as, org, push.read(job), {
      ...mark,
      along,
      schedule: name,
      ...(agreement !== null && key !== null && { agreement }),
    });
    return { run: id, stored: created };
  }

  /** By id of the run; those that are gone are left out. */
  async statuses(schedules: readonly { readonly kind: Work['kind']; readonly run: string }[]) {
    const ids = (kind: Work['kind']) => schedules.filter((one) => one.kind === kind).map(({ run }) => run);
    const found = new Map<string, RunStatus>();
    for (const [id, code] of await taskStatuses(this.#deps.read, ids('task'))) {
      found.set(id, { status: statusName(code), ended: isEnded(code) });
    }
    for (const [id, { status, finished }] of await this.#deps.push.statuses(ids('push'))) {
      found.set(id, { status, ended: finished });
    }
    return found;
  }
}
