import type { Store } from '@muster/store';
import { MusterError } from '../../errors.js';
import type { Authentication } from '../authentication.js';
import { type Changes, secretHash, type Trx } from '../changes.js';
import { AUTH_LIMITS } from '../limits.js';
import type { AuthRepository } from '../repository.js';
import type { Actor, Organization } from '../types.js';
import { byUser, proofColumns, requireUser, SignInLinks } from './links.js';
import type { LiveSessions } from './live.js';
import { listSessions, sessionOfTicket } from './rows.js';
import type { Proof, Session, SessionView, SignedInBy } from './types.js';

export interface SessionsDeps {
  readonly store: Store;
  readonly changes: Changes;
  readonly repository: AuthRepository;
  readonly authentication: Authentication;
  readonly live: LiveSessions;
}

/** What a session begins with. */
interface Beginning {
  readonly principalId: string;
  readonly name: string;
  readonly organization: Organization;
  readonly proof: Proof;
  readonly proofEnds: number | null;
  readonly by: SignedInBy;
  /** Hash of the link that is used up by it. */
  readonly link?: string;
  readonly address: string;
}

/** A session and its secret, which is told this once. */
export interface Begun {
  readonly secret: string;
  readonly session: Session;
}

/**
 * People sign in to the console. A session has the limits of an access token: it makes and empowers nobody, and ends with what it
 * began with, be that a key or a token, when nobody uses it, or at last by itself.
 */
export class Sessions {
  readonly links: SignInLinks;
  readonly live: LiveSessions;
  readonly #deps: SessionsDeps;

  constructor(deps: SessionsDeps) {
    this.#deps = deps;
    this.live = deps.live;
    this.links = new SignInLinks(deps.changes, deps.repository);
  }

  /** @throws MusterError `invalid_link`, `too_busy` */
  async byLink(secret: string, address: string): Promise<Begun> {
    // Read first: strangers must not take turns in the one lane of writes.
    const link = await this.links.find(secret);
    return this.#begin({ ...link, by: 'link', link: secretHash(secret), address });
  }

  /**
   * @param organization Where; without it that of the token, or the only one of its user.
   * @param by How the user came to that token.
   * @throws MusterError `invalid_token`, `not_associated`, `signed_in_elsewhere`, `tenant_unclear`, `organization_not_found`,
   * `not_a_user`, `too_busy`
   */
  async byToken(
    token: string,
    organization: string | undefined,
    address: string,
    by: SignedInBy = 'token',
  ): Promise<Begun> {
    const { authentication, repository, changes } = this.#deps;
    const named = organization === undefined ? undefined : await repository.organization(organization);
    const where = organization === undefined ? await authentication.homeOf({ token }) : (named ?? null);
    const realm = { organization: where, administration: true };
    const { identity, credential } = await authentication.byToken(token, realm, changes.now);
    requireUser(identity);
    if (where === null) {
      if (organization !== undefined) throw new MusterError('organization_not_found', { organization });
      throw await authentication.homeless(identity);
    }
    const { principalId, name } = identity;
    const proof = { kind: 'token', hash: secretHash(token) } as const;
    const { expiresMs: proofEnds } = credential;
    return this.#begin({ principalId, name, organization: where, proof, proofEnds, by, address });
  }

  /** By the hash of its secret. @throws MusterError `session_ended` */
  async require(hash: string): Promise<Session> {
    const session = await this.live.find(hash);
    if (session === null) throw new MusterError('session_ended');
    return session;
  }

  /** Signs out. */
  async end(session: Session, actor: Actor): Promise<void> {
    const { id, organization, name } = session;
    const detail = { id };
    const change = { orgId: organization.id, actor, action: 'session.end', target: name, detail } as const;
    await this.#deps.changes.apply(change, async (trx) => {
      if ((await removeSession(trx, organization.id, id, null)) === null) throw new MusterError('session_ended');
    });
  }

  /** Of an organization; `principalId` null: everybody's. */
  async list({ id: orgId }: Organization, principalId: string | null): Promise<readonly SessionView[]> {
    const { repository, changes } = this.#deps;
    const rows = await listSessions(repository.read, { orgId, principalId, now: changes.now });
    // Signs of life of the last minute are in no row yet.
    const now = rows.map((row) => ({ ...row, lastSeen: this.live.lastSeen(row) }));
    return now.filter(({ lastSeen }) => lastSeen > changes.now - AUTH_LIMITS.sessionIdleMs);
  }

  /** `principalId` null: whosever it is. @throws MusterError `not_found` */
  async remove(organization: Organization, id: string, principalId: string | null, actor: Actor): Promise<void> {
    const detail = { id, user: '' };
    const change = { orgId: organization.id, actor, action: 'session.delete', target: id, detail } as const;
    await this.#deps.changes.apply(change, async (trx) => {
      const user = await removeSession(trx, organization.id, id, principalId);
      if (user === null) throw new MusterError('not_found', { kind: 'session', name: id });
      detail.user = user;
    });
  }

  /** With which its page logs in to the event fabric, once and soon. @throws MusterError `too_busy` */
  async ticket({ id }: Session): Promise<{ readonly ticket: string; readonly expiresAt: number }> {
    const { store, changes } = this.#deps;
    const { now } = changes;
    const secret = changes.newSecret('ticket', AUTH_LIMITS.tokenBytes);
    const expiresAt = now + AUTH_LIMITS.ticketMs;
    await store.transact(async (trx) => {
      await trx.deleteFrom('session_tickets').where('expires_at', '<=', now).execute();
      const held = await trx.selectFrom('session_tickets').select('hash').where('session_id', '=', id).execute();
      const limit = AUTH_LIMITS.ticketsPerSession;
      if (held.length >= limit) throw new MusterError('too_busy', { what: 'tickets of the session', limit });
      const row = { hash: secret.hash, session_id: id, expires_at: expiresAt };
      await trx.insertInto('session_tickets').values(row).execute();
    });
    return { ticket: secret.text, expiresAt };
  }

  /** The session that a ticket is of; null: it is unknown, used up or too old, or the session has ended. */
  async ofTicket(ticket: string): Promise<Session | null> {
    const { repository, changes } = this.#deps;
    const hash = await sessionOfTicket(repository.read, secretHash(ticket), changes.now);
    return hash === null ? null : this.live.find(hash);
  }

  /** False: somebody was quicker. */
  async useTicket(ticket: string): Promise<boolean> {
    const hash = secretHash(ticket);
    const { numDeletedRows } = await this.#deps.store.transact((trx) =>
      trx.deleteFrom('session_tickets').where('hash', '=', hash).executeTakeFirstOrThrow(),
    );
    return numDeletedRows > 0n;
  }

  async #begin(beginning: Beginning): Promise<Begun> {
    const { changes } = this.#deps;
    const { principalId, name, organization, proof, proofEnds, by, link, address } = beginning;
    const { now } = changes;
    const id = changes.newId();
    const secret = changes.newSecret('session', AUTH_LIMITS.tokenBytes);
    const expiresAt = Math.min(now + AUTH_LIMITS.sessionMs, proofEnds ?? Number.POSITIVE_INFINITY);
    const change = { orgId: organization.id, actor: byUser(name, address), action: 'session.begin' } as const;
    await changes.apply({ ...change, target: name, detail: { id, by } }, async (trx) => {
      if (link !== undefined) await useLink(trx, link);
      await requireRoom(trx, principalId, now);
      await trx
        .insertInto('browser_sessions')
        .values({
          ...{ id, hash: secret.hash, org_id: organization.id, principal_id: principalId, ...proofColumns(proof) },
          ...{ began_by: by, address, created_at: now, last_seen: now, expires_at: expiresAt },
        })
        .execute();
    });
    return { secret: secret.text, session: await this.require(secret.hash) };
  }
}

async function useLink(trx: Trx, hash: string): Promise<void> {
  const used = await trx.deleteFrom('sign_in_links').where('hash', '=', hash).executeTakeFirst();
  if (used.numDeletedRows === 0n) throw new MusterError('invalid_link');
}

async function requireRoom(trx: Trx, principalId: string, now: number): Promise<void> {
  const held = await trx
    .selectFrom('browser_sessions')
    .select('id')
    .where('principal_id', '=', principalId)
    .where('expires_at', '>', now)
    .execute();
  const limit = AUTH_LIMITS.sessionsPerPrincipal;
  if (held.length >= limit) throw new MusterError('too_busy', { what: 'sessions', limit });
}

/** The name of its user; null: there is no such session. */
async function removeSession(trx: Trx, orgId: string, id: string, principalId: string | null): Promise<string | null> {
  const found = await trx
    .selectFrom('browser_sessions as s')
    .leftJoin('principals as p', 'p.id', 's.principal_id')
    .select(['p.name', 's.principal_id'])
    .where('s.id', '=', id)
    .where('s.org_id', '=', orgId)
    .executeTakeFirst();
  if (found === undefined || (principalId !== null && found.principal_id !== principalId)) return null;
  await trx.deleteFrom('session_tickets').where('session_id', '=', id).execute();
  await trx.deleteFrom('browser_sessions').where('id', '=', id).execute();
  return found.name ?? '';
}
