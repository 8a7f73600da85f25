import { type Kysely, sql } from 'kysely';
import type { Dialect, Migration } from './types.js';

/**
 * There are no foreign keys: the statements of a group commit are ordered by first appearance, not by
 * dependency, and every table has a single writer that knows what belongs together.
 */
export const nodesAndPushJobs: Migration = {
  version: 1,
  name: 'nodes and push jobs',
  async up(db, dialect) {
    await identities(db, dialect);
    await nodeGroups(db, dialect);
    await tokens(db, dialect);
    await nodes(db, dialect);
    await jobs(db, dialect);
    await records(db, dialect);
  },
};

/** `name TYPE [not null]` for each column; a name that ends with `?` may be null. */
function columns(type: Dialect['text'], names: readonly string[]) {
  return sql.join(
    names.map((name) =>
      name.endsWith('?') ? sql`${sql.id(name.slice(0, -1))} ${type}` : sql`${sql.id(name)} ${type} not null`,
    ),
  );
}

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
    ${columns(integer, ['created_at'])}
  ) ${table}`.execute(db);
  await sql`create index principal_keys_principal on principal_keys (principal_id)`.execute(db);

  await sql`create table org_members (
    ${columns(text, ['org_id', 'principal_id'])}, ${columns(integer, ['created_at'])},
    primary key (org_id, principal_id)
  ) ${keyed}`.execute(db);
  await sql`create index org_members_principal on org_members (principal_id)`.execute(db);

  await sql`create table groups (
    ${columns(text, ['org_id', 'name'])}, ${columns(integer, ['created_at'])}, primary key (org_id, name)
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

async function tokens(db: Kysely<unknown>, { text, integer, table }: Dialect): Promise<void> {
  await sql`create table enrol_tokens (
    id ${text} primary key, ${columns(text, ['org_id', 'hash', 'created_by'])},
    ${columns(integer, ['uses_left', 'expires_at', 'created_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index enrol_tokens_hash on enrol_tokens (hash)`.execute(db);
  await sql`create table access_tokens (
    id ${text} primary key, ${columns(text, ['principal_id', 'hash', 'created_by'])},
    ${columns(integer, ['expires_at', 'created_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index access_tokens_hash on access_tokens (hash)`.execute(db);
}

async function nodes(db: Kysely<unknown>, { text, integer, keyed }: Dialect): Promise<void> {
  await sql`create table nodes (
    ${columns(text, ['org_id', 'name', 'status', 'owner', 'owner_job?', 'reason', 'incarnation?', 'last_end?'])},
    ${columns(text, ['dialect?', 'key_fingerprint?', 'facts', 'labels', 'server'])},
    ${columns(integer, ['status_at', 'owner_at', 'created_at'])},
    primary key (org_id, name)
  ) ${keyed}`.execute(db);
}

async function jobs(db: Kysely<unknown>, { text, integer, bytes, table, keyed }: Dialect): Promise<void> {
  await sql`create table jobs (
    id ${text} primary key,
    ${columns(text, ['org_id', 'command', 'spec', 'requester', 'status', 'phase', 'ending?', 'reason?', 'server'])},
    ${columns(integer, ['node_count', 'created_at', 'updated_at', 'deadline?', 'event_seq'])}
  ) ${table}`.execute(db);
  await sql`create index jobs_newest on jobs (org_id, created_at desc, id)`.execute(db);
  // Finds the unfinished jobs at start (decision N10).
  await sql`create index jobs_phase on jobs (phase)`.execute(db);

  await sql`create table job_nodes (
    ${columns(text, ['job_id', 'org_id', 'node', 'status', 'reason?', 'signal?', 'incarnation?'])},
    ${columns(integer, ['starting', 'exit_code?', 'started_at?', 'updated_at', 'stdout_bytes?', 'stderr_bytes?'])},
    primary key (job_id, node)
  ) ${keyed}`.execute(db);
  await sql`create index job_nodes_node on job_nodes (org_id, node)`.execute(db);

  await sql`create table job_outputs (
    ${columns(text, ['job_id', 'node', 'stream'])}, ${columns(integer, ['position'])}, ${columns(bytes, ['data'])},
    primary key (job_id, node, stream, position)
  ) ${table}`.execute(db);
  await sql`create table job_events (
    ${columns(text, ['job_id', 'name', 'data'])}, ${columns(integer, ['seq', 'at'])}, primary key (job_id, seq)
  ) ${keyed}`.execute(db);
}

async function records(db: Kysely<unknown>, { text, integer, serial, table }: Dialect): Promise<void> {
  await sql`create table audit (
    id ${serial}, ${columns(text, ['org_id?', 'actor', 'action', 'target', 'outcome', 'detail'])},
    ${columns(integer, ['at'])}
  ) ${table}`.execute(db);
  await sql`create index audit_organization on audit (org_id, id)`.execute(db);

  // The last transaction of each write lane, stored with it: tells after a lost connection what became of it.
  await sql`create table commit_marker (
    lane ${text} primary key, ${columns(integer, ['seq', 'at'])}
  ) ${table}`.execute(db);
}
