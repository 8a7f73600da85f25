import { hash, randomBytes } from 'node:crypto';
import type { Clock } from '@muster/base';
import type { Schema } from '@muster/store';
import type { Transaction } from 'kysely';
import { MusterError } from '../errors.js';
import { LOG_LIMITS } from '../log/log-limits.js';
import type { Recorder } from '../log/recorder.js';
import type { AuthAction } from './actions.js';
import { type Audit, cut, cutDetail } from './audit.js';
import { AUTH_EVENTS } from './event-types.js';
import type { AuthRepository, ChangeScope } from './repository.js';
import type { AuditEntry, Organization } from './types.js';

/** Random bytes; the system's unless a test or the simulator brings its own. */
export type RandomBytes = (size: number) => Uint8Array;

/** Asked of the system at once for many: it takes long for each time that it is asked. */
const POOL_BYTES = 4096;
let pool: Buffer = Buffer.alloc(0);

export const systemRandom: RandomBytes = (size) => {
  if (size > POOL_BYTES) return randomBytes(size);
  if (size > pool.length) pool = randomBytes(POOL_BYTES);
  const given = pool.subarray(0, size);
  const own = new Uint8Array(given);
  // What is given once stands nowhere else.
  given.fill(0);
  pool = pool.subarray(size);
  return own;
};

export type Trx = Transaction<Schema>;

export interface ChangesDeps {
  readonly recorder: Recorder;
  readonly repository: AuthRepository;
  readonly audit: Audit;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** What changes, as the audit records it and as an event tells it. */
export interface Change extends Omit<AuditEntry, 'outcome'> {
  readonly action: AuthAction;
  /** Of a change outside organizations: the user, or the bearer of the access token, and it is told where that is a member; or all are told. */
  readonly concerns?: { readonly user: string } | { readonly accessToken: string } | 'everybody';
}

/**
 * Every change of identity: one transaction with its audit entry and its events, and the caches forget what they knew.
 */
export class Changes {
  readonly #deps: ChangesDeps;

  constructor(deps: ChangesDeps) {
    this.#deps = deps;
  }

  get now(): number {
    return this.#deps.clock.now();
  }

  /** 32 lower-case hex digits. */
  newId(): string {
    return Buffer.from(this.#deps.random(16)).toString('hex');
  }

  newSecret(prefix: string, bytes: number): { readonly text: string; readonly hash: string } {
    const text = `${prefix}_${Buffer.from(this.#deps.random(bytes)).toString('base64url')}`;
    return { text, hash: secretHash(text) };
  }

  /**
   * `work` may run again after a serialization failure; it only touches `trx`. What `changed` calls no change is neither
   * audited nor told. What comes with it in the same organization it says with `also`: it is audited and told before it.
   * @throws MusterError `organization_not_found` when the organization was deleted in the meantime.
   */
  async apply<Result>(
    change: Change,
    work: (trx: Trx, also: (more: Change) => void) => Promise<Result>,
    scope: ChangeScope = 'anything',
    changed: (result: Result) => boolean = () => true,
  ): Promise<Result> {
    const { recorder, audit, repository } = this.#deps;
    const { orgId } = change;
    const result = await recorder.transact(async (trx, record) => {
      const members = orgId === null ? await organizationsOf(trx, change.concerns) : [];
      const all: Change[] = [];
      const done = await work(trx, (more) => all.push(more));
      all.push(change);
      const told = orgId === null ? members : [await requireOrganization(trx, orgId)];
      if (changed(done)) {
        for (const one of all) await audit.within(trx, { ...one, outcome: 'done' });
        record(all.flatMap((one) => told.map((organization) => eventOf(one, organization))));
      }
      return done;
    });
    repository.changed(scope);
    return result;
  }
}

function eventOf({ action, actor, target, detail }: Change, organization: Organization) {
  const attributes = { actor: cut(actor.name), actor_kind: actor.kind, target: cut(target) };
  return AUTH_EVENTS.tell(`auth.${action}`, organization, attributes, cutDetail(detail));
}

/** Where the user is a member, or all; of very many organizations, some. */
async function organizationsOf(trx: Trx, concerns: Change['concerns']): Promise<readonly Organization[]> {
  if (concerns === undefined) return [];
  if (concerns === 'everybody')
    return trx.selectFrom('organizations').select(['id', 'name']).limit(LOG_LIMITS.eventsOfChange).execute();
  const memberships = trx
    .selectFrom('organizations as o')
    .innerJoin('org_members as m', 'm.org_id', 'o.id')
    .innerJoin('principals as p', 'p.id', 'm.principal_id')
    .select(['o.id', 'o.name'])
    .limit(LOG_LIMITS.eventsOfChange);
  return 'user' in concerns
    ? memberships.where('p.org_id', 'is', null).where('p.name', '=', concerns.user).execute()
    : memberships
        .innerJoin('access_tokens as t', 't.principal_id', 'p.id')
        .where('t.id', '=', concerns.accessToken)
        .execute();
}

/** The request was let in while there was one; nothing may be left behind in one that is gone. */
async function requireOrganization(trx: Trx, id: string): Promise<Organization> {
  const found = await trx.selectFrom('organizations').select(['id', 'name']).where('id', '=', id).executeTakeFirst();
  if (found === undefined) throw new MusterError('organization_not_found', { organization: id });
  return found;
}

/** Tokens are random enough that a plain hash hides them. */
export function secretHash(text: string): string {
  return hash('sha256', text, 'hex');
}
