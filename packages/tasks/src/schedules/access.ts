import type { Auth, Identity, Organization } from '@muster/platform/auth';
import type { LiveSchedule } from './live-schedule.js';
import { mayStart } from './owner.js';
import type { Schedule, WorkPlace } from './types.js';

/** Who may do what with a schedule: it depends on what it runs. */
export class ScheduleAccess {
  readonly #auth: Pick<Auth, 'authorize' | 'rights'>;

  constructor(auth: Pick<Auth, 'authorize' | 'rights'>) {
    this.#auth = auth;
  }

  /** Those of these that the caller may see. */
  async readable(caller: Identity, all: readonly LiveSchedule[]): Promise<readonly LiveSchedule[]> {
    // Many are of one queue; each queue is asked for once.
    const known = new Map<string, Promise<boolean>>();
    const seen: LiveSchedule[] = [];
    for (const live of all) {
      const { work, owner, org } = live.schedule;
      const place = work.kind === 'task' ? work.queueId : work.kind;
      const may = known.get(place) ?? this.#mayReadAt(caller, org, work);
      known.set(place, may);
      if (caller.principalId === owner.principalId || (await may)) seen.push(live);
    }
    return seen;
  }

  /** As the queue, or as push jobs; one's own besides. */
  async mayRead(caller: Identity, { org, work, owner }: Schedule): Promise<boolean> {
    return caller.principalId === owner.principalId || this.#mayReadAt(caller, org, work);
  }

  #mayReadAt(caller: Identity, org: Organization, work: WorkPlace): Promise<boolean> {
    return work.kind === 'task'
      ? this.#auth.authorize(caller, org, 'queue:read', work.queueId)
      : this.#auth.authorize(caller, org, 'push:read');
  }

  /** @throws MusterError `forbidden` */
  async assertMayStart(caller: Identity, org: Organization, work: WorkPlace): Promise<void> {
    if (await mayStart(this.#auth, caller, org, work)) return;
    throw this.#auth.rights.forbidden(caller.name, work.kind === 'task' ? 'queue:write' : 'push:execute');
  }

  /** Of push jobs: one's own, or all for those who may start any. @throws MusterError `forbidden` */
  async assertMayChange(caller: Identity, { org, work, owner }: Schedule): Promise<void> {
    if (work.kind === 'task') return this.assertMayStart(caller, org, work);
    if (caller.principalId === owner.principalId) return;
    if (await this.#auth.authorize(caller, org, 'push:write')) return;
    throw this.#auth.rights.forbidden(caller.name, 'push:write');
  }
}
