import type { Clock } from '@muster/base';
import { type Auth, type Organization, PRINCIPAL_NAME } from '@muster/platform/auth';
import { type Store, upsert } from '@muster/store';
import { MusterError } from '../errors.js';
import type { JobStore } from '../repository/job-store.js';
import { echo, refused } from '../request/refusal.js';
import type { By, Job } from '../types.js';
import { type JobPermission, permissionsOf, WORLD } from './access.js';

export interface SharingDeps {
  readonly store: Pick<Store, 'read' | 'commit' | 'transact'>;
  readonly jobs: JobStore;
  readonly repository: Pick<Auth['repository'], 'candidates' | 'issuers'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** Users with whom one job is shared. */
const MOST_SHARED = 1000;

/** Before the names of nodes and services. */
const CLIENT = 'client:';
const principalName = new RegExp(PRINCIPAL_NAME);

const grantRow = upsert('job_permissions', { uuid: 'text', username: 'text', permission: 'text', updated: 'integer' }, [
  'uuid',
  'username',
]);

/** Who besides its owner may do something with a job (sheet §8.7). */
export class Sharing {
  readonly #deps: SharingDeps;

  constructor(deps: SharingDeps) {
    this.#deps = deps;
  }

  /**
   * To a user of the organization; also to a name that nobody has yet, where an issuer of tokens may name users that are known
   * only when they come.
   * @throws MusterError `job_invalid` for what is no name, `job_user_not_found`, `too_busy`
   */
  async grant(
    organization: Organization,
    job: Job,
    username: string,
    permission: JobPermission,
    by: By,
  ): Promise<void> {
    const { store, jobs, clock } = this.#deps;
    await this.#checkUser(organization, username);
    const shared = await permissionsOf(store.read, job.uuid);
    if (shared.length >= MOST_SHARED && !shared.some((one) => one.username === username)) {
      throw new MusterError('too_busy', { what: `users who share job ${job.uuid}`, limit: MOST_SHARED });
    }
    const says = `${permission} was granted to ${username}`;
    const { writes, stored } = await jobs.toldEntry(job, 'PERMISSION_GRANT', by, says);
    await store.commit([grantRow({ uuid: job.uuid, username, permission, updated: clock.now() }), ...writes]);
    stored();
  }

  /** @param username null: from everybody. */
  async revoke(job: Job, username: string | null, by: By): Promise<void> {
    const { store, jobs } = this.#deps;
    const says = `Permissions were taken from ${username ?? 'everybody'}`;
    const { writes, stored } = await jobs.toldEntry(job, 'PERMISSION_REVOKE', by, says);
    await store.transact(async (trx, write) => {
      let gone = trx.deleteFrom('job_permissions').where('uuid', '=', job.uuid);
      if (username !== null) gone = gone.where('username', '=', username);
      const { numDeletedRows: rows } = await gone.executeTakeFirst();
      if (rows === 0n) return;
      write(writes);
    });
    stored();
  }

  async #checkUser({ id }: Organization, username: string): Promise<void> {
    if (username === WORLD) return;
    const { repository } = this.#deps;
    const isClient = username.startsWith(CLIENT);
    const name = isClient ? username.slice(CLIENT.length) : username;
    if (!principalName.test(name)) {
      throw refused('ALOE_INVALID_PARAMETER', 'username', `'${echo(username)}' is not a name that a user can have`);
    }
    const candidates = await repository.candidates(id, name);
    if (candidates.some(({ type, member }) => member && (type === 'user') !== isClient)) return;
    const mayCome = !isClient && (await repository.issuers(id)).length > 0;
    if (!mayCome) throw new MusterError('job_user_not_found', { user: username.slice(0, 64) });
  }
}
