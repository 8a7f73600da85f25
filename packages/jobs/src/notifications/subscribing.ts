import type { Clock } from '@muster/base';
import { checkHost, withdrawDeliveries } from '@muster/platform/outbound';
import { GuardFailed, guard, type Store, type Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { jobOf } from '../repository/job-row.js';
import '../repository/tables.js';
import { refused } from '../request/refusal.js';
import { isTerminal } from '../status.js';
import type { Job, Subscription } from '../types.js';
import { NOTIFICATION_LIMITS } from './limits.js';
import { activeSubscriptions, type StoredSubscription, subscribeRows } from './subscriptions.js';

export interface SubscribingDeps {
  readonly store: Pick<Store, 'read' | 'commit' | 'transact'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether webhooks may go to private addresses. */
  readonly privateTargets: boolean;
}

const asRead = guard('jobs', { uuid: 'text', status: 'text', subscriptions: 'integer' }, ['uuid']);

/** Who is told of a job that was accepted before (sheet §9.5). */
export class Subscribing {
  readonly #deps: SubscribingDeps;

  constructor(deps: SubscribingDeps) {
    this.#deps = deps;
  }

  /**
   * @param also Stored with it, such as the audit's entry.
   * @throws MusterError `job_invalid` for a private address, `job_ended`: nothing will be told of it any more, `too_busy`
   */
  async add(job: Job, subscription: Subscription, also: readonly Write[]): Promise<StoredSubscription> {
    const { store, clock, privateTargets } = this.#deps;
    if (!privateTargets) checkTarget(subscription.url);
    for (let known = job; ; known = await this.#again(known)) {
      const { uuid, status, subscriptions } = known;
      if (isTerminal(status)) throw new MusterError('job_ended', { job: uuid, status });
      await this.#assertRoom(known);
      const { row, writes } = subscribeRows(known, subscription, clock.now());
      try {
        await store.commit([asRead({ uuid, status, subscriptions }), ...writes, ...also]);
        return row;
      } catch (error) {
        const changed =
          error instanceof GuardFailed && error.failed.every(({ statement }) => statement.table === 'jobs');
        if (!changed) throw error;
      }
    }
  }

  /** What waits to be sent to it is not sent any more. What was sent stays in the log. @throws MusterError `not_found` */
  async remove({ uuid }: Pick<Job, 'uuid'>, id: string, also: readonly Write[]): Promise<void> {
    await this.#deps.store.transact(async (trx, write) => {
      const rows = trx.updateTable('job_notifications').set({ status: 'INACTIVE' });
      const { numUpdatedRows: found } = await rows.where('id', '=', id).where('uuid', '=', uuid).executeTakeFirst();
      if (found === 0n) throw new MusterError('not_found', { kind: 'notification', name: id });
      await withdrawDeliveries(trx, id);
      write(also);
    });
  }

  async #again({ uuid, tenant }: Job): Promise<Job> {
    const rows = this.#deps.store.read.selectFrom('jobs').selectAll().where('uuid', '=', uuid);
    const row = await rows.executeTakeFirst();
    if (row === undefined) throw new MusterError('job_not_found', { job: uuid, tenant });
    return jobOf(row);
  }

  async #assertRoom(job: Job): Promise<void> {
    const { subscriptions: most, everSubscribed } = NOTIFICATION_LIMITS;
    const active = (await activeSubscriptions(this.#deps.store.read, job.uuid)).length;
    const what = `notifications of job ${job.uuid}`;
    if (active >= most) throw new MusterError('too_busy', { what, limit: most });
    if (job.subscriptions >= everSubscribed) throw new MusterError('too_busy', { what, limit: everSubscribed });
  }
}

/** Names are looked at when they are resolved: at each delivery. */
function checkTarget(url: string): void {
  if (!URL.canParse(url) || !/^https?:/i.test(url)) return;
  try {
    checkHost(new URL(url));
  } catch (error) {
    throw refused('ALOE_INVALID_PARAMETER', 'url', error instanceof Error ? error.message : String(error));
  }
}
