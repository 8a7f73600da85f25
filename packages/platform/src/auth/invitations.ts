import { MusterError } from '../errors.js';
import type { Change, Changes, Trx } from './changes.js';
import { AUTH_LIMITS } from './limits.js';
import { insertMember, userId } from './organizations.js';
import type { AuthRepository } from './repository.js';
import { type Actor, actorOf, type Identity, type Organization } from './types.js';

export interface InvitationView {
  readonly id: string;
  /** Name of the organization. */
  readonly organization: string;
  readonly user: string;
  /** Name of who invited. */
  readonly invitedBy: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

interface OpenInvitation extends InvitationView {
  readonly orgId: string;
}

/** Invitations of users into organizations, so that nobody is made a member without having agreed to it. */
export class Invitations {
  readonly #changes: Changes;
  readonly #repository: AuthRepository;

  constructor(changes: Changes, repository: AuthRepository) {
    this.#changes = changes;
    this.#repository = repository;
  }

  /** @throws MusterError `not_found` without such a user; `already_member`; `already_invited`; `too_busy`. */
  async create(organization: Organization, user: string, actor: Actor): Promise<InvitationView> {
    const { now } = this.#changes;
    const id = this.#changes.newId();
    const orgId = organization.id;
    const expiresAt = now + AUTH_LIMITS.invitationTtl * 1000;
    const about = { orgId, actor, action: 'invitation.create', target: user, detail: { id } } as const;
    await this.#changes.apply(about, async (trx) => {
      await trx.deleteFrom('org_invitations').where('expires_at', '<=', now).execute();
      const principalId = await userId(trx, user);
      await requireNeither(trx, orgId, principalId, user);
      await requireRoom(trx, orgId);
      await trx
        .insertInto('org_invitations')
        .values({
          id,
          org_id: orgId,
          principal_id: principalId,
          invited_by: actor.name,
          created_at: now,
          expires_at: expiresAt,
        })
        .execute();
    });
    return { id, organization: organization.name, user, invitedBy: actor.name, createdAt: now, expiresAt };
  }

  /** What nobody has answered yet, the oldest first. */
  ofOrganization(orgId: string): Promise<readonly InvitationView[]> {
    return this.#open().where('i.org_id', '=', orgId).execute();
  }

  ofUser(user: string): Promise<readonly InvitationView[]> {
    return this.#open().where('p.name', '=', user).execute();
  }

  /** @throws MusterError `not_found`, as the following: also when it was answered or has expired. */
  async withdraw(organization: Organization, id: string, actor: Actor): Promise<void> {
    const found = (await this.ofOrganization(organization.id)).find((one) => one.id === id);
    if (found === undefined) throw unknown(id);
    const change = { orgId: organization.id, actor, target: found.user, detail: { id } };
    await this.#end({ ...change, action: 'invitation.delete' }, id);
  }

  /** Makes the user a member. Returns the organization's name. */
  async accept(user: Identity, id: string): Promise<string> {
    const { orgId, organization, invitedBy } = await this.#sentTo(user, id);
    const change = { orgId, actor: actorOf(user), target: user.name, detail: { invited_by: invitedBy } };
    await this.#end({ ...change, action: 'member.add' }, id, (trx) =>
      insertMember(trx, orgId, user.principalId, this.#changes.now),
    );
    return organization;
  }

  /** Returns the organization's name. */
  async reject(user: Identity, id: string): Promise<string> {
    const { orgId, organization } = await this.#sentTo(user, id);
    const change = { orgId, actor: actorOf(user), target: user.name, detail: { id } };
    await this.#end({ ...change, action: 'invitation.reject' }, id);
    return organization;
  }

  async #sentTo({ principalId }: Identity, id: string): Promise<OpenInvitation> {
    const found = await this.#open()
      .where('i.id', '=', id)
      .where('i.principal_id', '=', principalId)
      .executeTakeFirst();
    if (found === undefined) throw unknown(id);
    return found;
  }

  async #end(change: Change, id: string, also?: (trx: Trx) => Promise<void>): Promise<void> {
    await this.#changes.apply(change, async (trx) => {
      const ended = await trx
        .deleteFrom('org_invitations')
        .where('id', '=', id)
        .where('expires_at', '>', this.#changes.now)
        .executeTakeFirst();
      if (ended.numDeletedRows === 0n) throw unknown(id);
      await also?.(trx);
    });
  }

  #open() {
    return this.#repository.read
      .selectFrom('org_invitations as i')
      .innerJoin('organizations as o', 'o.id', 'i.org_id')
      .innerJoin('principals as p', 'p.id', 'i.principal_id')
      .select(['i.id', 'o.id as orgId', 'o.name as organization', 'p.name as user', 'i.invited_by as invitedBy'])
      .select(['i.created_at as createdAt', 'i.expires_at as expiresAt'])
      .where('i.expires_at', '>', this.#changes.now)
      .orderBy('i.created_at')
      .orderBy('i.id');
  }
}

function unknown(id: string): MusterError {
  return new MusterError('not_found', { kind: 'invitation', name: id });
}

async function requireNeither(trx: Trx, orgId: string, principalId: string, user: string): Promise<void> {
  for (const [table, code] of [
    ['org_members', 'already_member'],
    ['org_invitations', 'already_invited'],
  ] as const) {
    const found = await trx
      .selectFrom(table)
      .select('principal_id')
      .where('org_id', '=', orgId)
      .where('principal_id', '=', principalId)
      .executeTakeFirst();
    if (found !== undefined) throw new MusterError(code, { name: user });
  }
}

async function requireRoom(trx: Trx, orgId: string): Promise<void> {
  const limit = AUTH_LIMITS.invitationsPerOrganization;
  const open = await trx.selectFrom('org_invitations').select('id').where('org_id', '=', orgId).execute();
  if (open.length >= limit) throw new MusterError('too_busy', { what: 'invitations', limit });
}
