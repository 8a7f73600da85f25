import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { Link, Session, SessionView } from './types.js';

type Reader = Kysely<Schema>;

/**
 * Sessions that stand: their user is there and belongs to the organization, or administrates the server, and the key or token
 * that they began with is still good. That they have not ended by time is for who asks to see.
 */
function standing(read: Reader) {
  return (
    read
      .selectFrom('browser_sessions as s')
      .innerJoin('principals as p', 'p.id', 's.principal_id')
      .innerJoin('organizations as o', 'o.id', 's.org_id')
      .leftJoin('org_members as m', (join) =>
        join.onRef('m.principal_id', '=', 's.principal_id').onRef('m.org_id', '=', 's.org_id'),
      )
      .leftJoin('access_tokens as t', 't.hash', 's.token_hash')
      .leftJoin('principal_keys as k', (join) =>
        join.onRef('k.principal_id', '=', 's.principal_id').onRef('k.fingerprint', '=', 's.key_fingerprint'),
      )
      .where((is) => is.or([is('t.id', 'is not', null), is('k.id', 'is not', null)]))
      // An issuer makes nobody an administrator of the server.
      .where((is) =>
        is.or([is('m.org_id', 'is not', null), is.and([is('p.server_admin', '=', 1), is('t.issuer_id', 'is', null)])]),
      )
  );
}

export async function readSession(read: Reader, hash: string): Promise<Session | undefined> {
  const row = await standing(read)
    .select(['s.id', 's.hash', 'p.id as principalId', 'p.name', 'o.id as orgId', 'o.name as organization'])
    .select(['t.issuer_id as issuerId', 's.last_seen as lastSeen', 's.expires_at as expiresAt'])
    .where('s.hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { orgId, organization: name, issuerId, ...session } = row;
  return { ...session, organization: { id: orgId, name }, signedIn: issuerId !== null };
}

/** Of these hashes, those of sessions that stand, with whose they are. */
export async function standingSessions(
  read: Reader,
  hashes: readonly string[],
): Promise<readonly { readonly principalId: string; readonly hash: string }[]> {
  if (hashes.length === 0) return [];
  return standing(read).select(['s.principal_id as principalId', 's.hash']).where('s.hash', 'in', hashes).execute();
}

/** The session that a ticket is of, while it is good: by the hash of the session. */
export async function sessionOfTicket(read: Reader, hash: string, now: number): Promise<string | null> {
  const row = await read
    .selectFrom('session_tickets as t')
    .innerJoin('browser_sessions as s', 's.id', 't.session_id')
    .select('s.hash')
    .where('t.hash', '=', hash)
    .where('t.expires_at', '>', now)
    .executeTakeFirst();
  return row?.hash ?? null;
}

/** Of an organization, or of one user there; also those that nobody has used for long. The newest first. */
export async function listSessions(
  read: Reader,
  about: { readonly orgId: string; readonly principalId: string | null; readonly now: number },
): Promise<readonly SessionView[]> {
  const all = standing(read)
    .select(['s.id', 'p.name as user', 's.began_by as by', 's.address', 's.created_at as createdAt'])
    .select(['s.last_seen as lastSeen', 's.expires_at as expiresAt'])
    .where('s.org_id', '=', about.orgId)
    .where('s.expires_at', '>', about.now)
    .orderBy('s.created_at', 'desc')
    .orderBy('s.id');
  return (about.principalId === null ? all : all.where('s.principal_id', '=', about.principalId)).execute();
}

/** A link whose user and key or token are still there. Whether it is in time is for who asks to see. */
export async function readLink(read: Reader, hash: string): Promise<Link | undefined> {
  const row = await read
    .selectFrom('sign_in_links as l')
    .innerJoin('principals as p', 'p.id', 'l.principal_id')
    .innerJoin('organizations as o', 'o.id', 'l.org_id')
    .leftJoin('access_tokens as t', 't.hash', 'l.token_hash')
    .leftJoin('principal_keys as k', (join) =>
      join.onRef('k.principal_id', '=', 'l.principal_id').onRef('k.fingerprint', '=', 'l.key_fingerprint'),
    )
    .select(['p.id as principalId', 'p.name', 'o.id as orgId', 'o.name as organization'])
    .select(['t.hash as token', 't.expires_at as tokenEnds', 'k.fingerprint', 'k.expires_at as keyEnds'])
    .select('l.expires_at as expiresAt')
    .where('l.hash', '=', hash)
    .executeTakeFirst();
  if (row === undefined) return undefined;
  const { principalId, name, expiresAt } = row;
  const about = { principalId, name, expiresAt, organization: { id: row.orgId, name: row.organization } };
  if (row.token !== null) return { ...about, proof: { kind: 'token', hash: row.token }, proofEnds: row.tokenEnds };
  if (row.fingerprint === null) return undefined;
  return { ...about, proof: { kind: 'key', fingerprint: row.fingerprint }, proofEnds: row.keyEnds };
}

/** Somebody leaves an organization, or with null this server. */
export async function endSessions(trx: Kysely<Schema>, principalId: string, orgId: string | null): Promise<void> {
  for (const table of ['browser_sessions', 'sign_in_links'] as const) {
    const rows = trx.deleteFrom(table).where('principal_id', '=', principalId);
    await (orgId === null ? rows : rows.where('org_id', '=', orgId)).execute();
  }
}
