import { columns, type Dialect, type Migrations } from '@muster/store';
import { type Kysely, sql } from 'kysely';
import './tables.js';

/**
 * There are no foreign keys: the statements of a group commit are ordered by first appearance, not by
 * dependency, and every table has a single writer that knows what belongs together.
 */
export const platformMigrations: Migrations = {
  package: 'platform',
  steps: [
    {
      name: 'identities, events, output and audit',
      async up(db, dialect) {
        await identities(db, dialect);
        await nodeGroups(db, dialect);
        await tokens(db, dialect);
        await sessions(db, dialect);
        await log(db, dialect);
        await schedule(db, dialect);
        await subscriptions(db, dialect);
        await secrets(db, dialect);
        await told(db, dialect);
        await output(db, dialect);
        await records(db, dialect);
      },
    },
    {
      name: 'counts of events',
      async up(db, { text, integer, keyed }) {
        await sql`create table event_counts (
          ${columns(text, ['org_id', 'type', 'status'])}, ${columns(integer, ['hour', 'count'])},
          primary key (org_id, hour, type, status)
        ) ${keyed}`.execute(db);
        await sql`create index event_counts_hour on event_counts (hour)`.execute(db);
      },
    },
    {
      name: 'revoked keys',
      async up(db, { text, integer, keyed }) {
        await sql`create table revoked_keys (
          ${columns(text, ['org_id', 'fingerprint', 'reason?', 'held_by', 'revoked_by'])},
          ${columns(integer, ['revoked_at'])}, primary key (org_id, fingerprint)
        ) ${keyed}`.execute(db);
        await sql`create index principal_keys_fingerprint on principal_keys (fingerprint)`.execute(db);
      },
    },
    {
      name: 'marks of the audit',
      async up(db, { text }) {
        await sql`alter table audit add column mark ${text}`.execute(db);
        await sql`create unique index audit_mark on audit (mark)`.execute(db);
      },
    },
  ],
};

async function identities(db: Kysely<unknown>, { text, integer, table, keyed }: Dialect): Promise<void> {
  await sql`create table organizations (
    id ${text} primary key, ${columns(text, ['name'])}, ${columns(integer, ['created_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index organizations_name on organizations (name)`.execute(db);

  await sql`create table principals (
    id ${text} primary key, ${columns(text, ['org_id?', 'type', 'name'])},
    ${columns(integer, ['server_admin', 'created_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index principals_name on principals (org_id, type, name)`.execute(db);
  // NULLs differ from each other in a unique index: global principals need one of their own.
  await sql`create unique index principals_global_name on principals (type, name) where org_id is null`.execute(db);

  await sql`create table principal_keys (
    id ${text} primary key, ${columns(text, ['principal_id', 'public_key', 'fingerprint'])},
    ${columns(integer, ['created_at', 'expires_at?'])}
  ) ${table}`.execute(db);
  await sql`create index principal_keys_principal on principal_keys (principal_id)`.execute(db);

  await sql`create table org_members (
    ${columns(text, ['org_id', 'principal_id'])}, ${columns(integer, ['created_at'])},
    primary key (org_id, principal_id)
  ) ${keyed}`.execute(db);
  await sql`create index org_members_principal on org_members (principal_id)`.execute(db);

  await sql`create table org_invitations (
    id ${text} primary key, ${columns(text, ['org_id', 'principal_id', 'invited_by'])},
    ${columns(integer, ['created_at', 'expires_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index org_invitations_user on org_invitations (org_id, principal_id)`.execute(db);
  await sql`create index org_invitations_principal on org_invitations (principal_id)`.execute(db);

  await sql`create table groups (
    ${columns(text, ['org_id', 'name'])}, ${columns(integer, ['created_at'])},
    exclusive integer not null default 0, primary key (org_id, name)
  ) ${keyed}`.execute(db);
  await sql`create table group_members (
    ${columns(text, ['org_id', 'group_name', 'kind', 'member'])},
    primary key (org_id, group_name, kind, member)
  ) ${keyed}`.execute(db);
  await sql`create index group_members_member on group_members (org_id, kind, member)`.execute(db);
}

async function nodeGroups(db: Kysely<unknown>, { text, integer, keyed }: Dialect): Promise<void> {
  await sql`create table node_groups (
    ${columns(text, ['org_id', 'name', 'query?'])}, ${columns(integer, ['created_at', 'updated_at'])},
    primary key (org_id, name)
  ) ${keyed}`.execute(db);
  await sql`create table node_group_members (
    ${columns(text, ['org_id', 'group_name', 'node'])}, primary key (org_id, group_name, node)
  ) ${keyed}`.execute(db);
  await sql`create table node_group_grants (
    ${columns(text, ['org_id', 'group_name', 'kind', 'member'])},
    primary key (org_id, group_name, kind, member)
  ) ${keyed}`.execute(db);
}

async function tokens(db: Kysely<unknown>, { text, integer, bytes, table, keyed }: Dialect): Promise<void> {
  await sql`create table enrol_tokens (
    id ${text} primary key, ${columns(text, ['org_id', 'hash', 'created_by'])},
    ${columns(integer, ['uses_left', 'expires_at', 'created_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index enrol_tokens_hash on enrol_tokens (hash)`.execute(db);
  await sql`create table access_tokens (
    id ${text} primary key, ${columns(text, ['principal_id', 'org_id?', 'issuer_id?', 'hash', 'created_by'])},
    ${columns(integer, ['expires_at', 'created_at'])}
  ) ${table}`.execute(db);
  await sql`create index access_tokens_issuer on access_tokens (issuer_id) where issuer_id is not null`.execute(db);
  await sql`create unique index access_tokens_hash on access_tokens (hash)`.execute(db);
  await sql`create index access_tokens_principal on access_tokens (principal_id)`.execute(db);
  await sql`create table issuers (
    id ${text} primary key, ${columns(text, ['org_id', 'name', 'kind', 'source', 'recognized'])},
    ${columns(text, ['issuer?', 'audience?', 'user_claim?', 'tenant?', 'sign_in?', 'ldap?'])}, ${columns(bytes, ['sealed?'])},
    ${columns(integer, ['created_at'])}
  ) ${table}`.execute(db);
  await sql`create table directory_users (
    ${columns(text, ['issuer_id', 'principal_id', 'org_id'])}, primary key (issuer_id, principal_id)
  ) ${keyed}`.execute(db);
  await sql`create index directory_users_principal on directory_users (principal_id)`.execute(db);
  await sql`create index directory_users_organization on directory_users (org_id)`.execute(db);
  await sql`create table used_sign_ins (
    org_id ${text} not null, hash ${text} not null, ends ${integer} not null, primary key (org_id, hash)
  ) ${keyed}`.execute(db);
  await sql`create index used_sign_ins_ends on used_sign_ins (ends)`.execute(db);
  await sql`create unique index issuers_name on issuers (org_id, name)`.execute(db);
  await sql`create unique index issuers_recognized on issuers (recognized)`.execute(db);
  await sql`create index issuers_issuer on issuers (issuer)`.execute(db);
}

async function sessions(db: Kysely<unknown>, { text, integer, table, keyed }: Dialect): Promise<void> {
  await sql`create table sign_in_links (
    hash ${text} primary key, ${columns(text, ['org_id', 'principal_id', 'key_fingerprint?', 'token_hash?'])},
    ${columns(integer, ['expires_at', 'created_at'])}
  ) ${keyed}`.execute(db);
  await sql`create index sign_in_links_principal on sign_in_links (principal_id)`.execute(db);
  await sql`create table browser_sessions (
    id ${text} primary key,
    ${columns(text, ['hash', 'org_id', 'principal_id', 'key_fingerprint?', 'token_hash?', 'began_by', 'address?'])},
    ${columns(integer, ['created_at', 'last_seen', 'expires_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index browser_sessions_hash on browser_sessions (hash)`.execute(db);
  await sql`create index browser_sessions_principal on browser_sessions (principal_id)`.execute(db);
  await sql`create index browser_sessions_organization on browser_sessions (org_id)`.execute(db);
  await sql`create table session_tickets (
    hash ${text} primary key, ${columns(text, ['session_id'])}, ${columns(integer, ['expires_at'])}
  ) ${keyed}`.execute(db);
  await sql`create index session_tickets_session on session_tickets (session_id)`.execute(db);
}

async function log(db: Kysely<unknown>, { text, integer, bytes, table, keyed }: Dialect): Promise<void> {
  await sql`create table event_log (
    first ${integer} primary key, last ${integer} not null, floor ${integer} not null,
    at_first ${integer} not null, at_last ${integer} not null,
    org_id ${text} not null, subject ${text}, bytes ${integer} not null, frames ${bytes} not null
  ) ${table}`.execute(db);
  await sql`create index event_log_organization on event_log (org_id, first)`.execute(db);
  await sql`create index event_log_subject on event_log (subject, first) where subject is not null`.execute(db);
  // Also answers how large the log is, and where a time is in it, without reading the frames.
  await sql`create index event_log_age on event_log (at_last, first, bytes)`.execute(db);
  await sql`create table event_marks (
    name ${text} primary key, position ${integer} not null
  ) ${keyed}`.execute(db);
}

async function schedule(db: Kysely<unknown>, { text, integer, bytes, table }: Dialect): Promise<void> {
  await sql`create table scheduled_events (
    id ${text} primary key, org_id ${text} not null, source ${text} not null, kind ${text} not null,
    type ${text} not null, at ${integer} not null, seq ${integer} not null, created_at ${integer} not null,
    lines ${bytes} not null, body ${bytes} not null
  ) ${table}`.execute(db);
  await sql`create index scheduled_events_due on scheduled_events (at, seq)`.execute(db);
  await sql`create index scheduled_events_organization on scheduled_events (org_id, at, seq)`.execute(db);
}

async function subscriptions(db: Kysely<unknown>, { text, integer, keyed }: Dialect): Promise<void> {
  await sql`create table event_cursors (
    org_id ${text} not null, principal ${text} not null, kind ${text} not null, name ${text} not null,
    through ${integer} not null, acknowledged ${text} not null, selector ${text} not null, saved_at ${integer} not null,
    primary key (org_id, principal, kind, name)
  ) ${keyed}`.execute(db);
  await sql`create table event_nonces (
    principal_id ${text} not null, nonce ${text} not null, ends ${integer} not null, primary key (principal_id, nonce)
  ) ${keyed}`.execute(db);
  await sql`create index event_nonces_ends on event_nonces (ends)`.execute(db);
  await sql`create table event_grants (
    org_id ${text} not null, action ${text} not null, pattern ${text} not null,
    kind ${text} not null, member ${text} not null,
    primary key (org_id, action, pattern, kind, member)
  ) ${keyed}`.execute(db);
}

async function secrets(db: Kysely<unknown>, { text, integer, bytes, table }: Dialect): Promise<void> {
  await sql`create table org_secrets (
    id ${text} primary key, ${columns(text, ['org_id', 'name', 'owner_id', 'owner_name', 'holders', 'provider?', 'reference?'])},
    ${columns(bytes, ['sealed?'])}, ${columns(integer, ['created_at', 'updated_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index org_secrets_name on org_secrets (org_id, name)`.execute(db);
}

async function told(db: Kysely<unknown>, { text, integer, table }: Dialect): Promise<void> {
  await sql`create table notifications (
    id ${text} primary key, ${columns(text, ['org_id', 'name', 'follows', 'selector', 'target', 'policy'])},
    ${columns(text, ['owner_id', 'owner_type', 'owner_name'])},
    ${columns(integer, ['enabled', 'since', 'skipped', 'created_at', 'updated_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index notifications_name on notifications (org_id, name)`.execute(db);
  await sql`create table audit_trails (
    notification_id ${text} primary key, ${columns(text, ['org_id', 'detail?'])},
    ${columns(integer, ['seal', 'attempts', 'next_attempt', 'response_code?', 'last_sent?'])}
  ) ${table}`.execute(db);
  await sql`create index audit_trails_organization on audit_trails (org_id)`.execute(db);
  await sql`create table deliveries (
    id ${text} primary key,
    ${columns(text, ['subscription', 'subject', 'org_id', 'event', 'url', 'title', 'body', 'policy'])},
    ${columns(integer, ['only', 'attempts', 'next_attempt?', 'response_code?'])}, ${columns(text, ['outcome', 'detail?'])},
    ${columns(integer, ['created', 'last_sent?'])}
  ) ${table}`.execute(db);
  await sql`create index deliveries_subject on deliveries (subject, created)`.execute(db);
  await sql`create index deliveries_organization on deliveries (org_id)`.execute(db);
  await sql`create index deliveries_waiting on deliveries (next_attempt) where outcome = 'waiting'`.execute(db);
  await sql`create index deliveries_queue on deliveries (subscription) where outcome = 'waiting'`.execute(db);
}

async function output(db: Kysely<unknown>, { text, integer, bytes, table }: Dialect): Promise<void> {
  await sql`create table output_chunks (
    ${columns(text, ['subject', 'part', 'stream'])}, ${columns(integer, ['position'])}, ${columns(bytes, ['data'])},
    primary key (subject, part, stream, position)
  ) ${table}`.execute(db);
}

async function records(db: Kysely<unknown>, { text, integer, serial, table }: Dialect): Promise<void> {
  await sql`create table audit (
    id ${serial},
    ${columns(text, ['org_id?', 'actor', 'actor_kind', 'address?', 'action', 'target', 'outcome', 'detail'])},
    ${columns(integer, ['at', 'seal?'])}
  ) ${table}`.execute(db);
  await sql`create index audit_organization on audit (org_id, id)`.execute(db);
  await sql`create index audit_unsealed on audit (id) where seal is null`.execute(db);
  await sql`create index audit_sealed on audit (org_id, seal)`.execute(db);
  await sql`create table audit_seals (
    ${columns(text, ['org_id', 'hash', 'signature'])}, ${columns(integer, ['number', 'entries', 'at'])},
    primary key (org_id, number)
  ) ${table}`.execute(db);
  await sql`create table deleted_organizations (
    id ${text} primary key, deleted_at ${integer} not null
  ) ${table}`.execute(db);
}
