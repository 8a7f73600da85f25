import { columns, type Dialect, type Migrations } from '@muster/store';
import { type Kysely, sql } from 'kysely';
import '../approvals/tables.js';
import '../runbooks/tables.js';
import './tables.js';

export const pushMigrations: Migrations = {
  package: 'push',
  steps: [
    {
      name: 'push jobs',
      async up(db, dialect) {
        await jobs(db, dialect);
        await owners(db, dialect);
        await files(db, dialect);
        await settings(db, dialect);
        await runbooks(db, dialect);
      },
    },
    { name: 'policies of approval', up: policies },
  ],
};

async function jobs(db: Kysely<unknown>, { text, integer, table, keyed }: Dialect): Promise<void> {
  await sql`create table push_jobs (
    id ${text} primary key,
    ${columns(text, ['org_id', 'command', 'spec', 'requester', 'status', 'phase', 'ending?', 'reason?', 'stage?'])},
    ${columns(integer, ['node_count', 'created_at', 'updated_at', 'deadline?'])}
  ) ${table}`.execute(db);
  await sql`create index push_jobs_newest on push_jobs (org_id, created_at desc, id)`.execute(db);
  // Finds the unfinished push jobs at start (decision N10), and those that ended long ago.
  await sql`create index push_jobs_phase on push_jobs (phase, updated_at)`.execute(db);
  // Finds push jobs by the beginning of their id.
  await sql`create unique index push_jobs_lookup on push_jobs (org_id, id)`.execute(db);
  await sql`create table push_job_nodes (
    ${columns(text, ['job_id', 'node', 'status', 'reason?', 'signal?', 'output_missing?', 'output_hash?'])},
    ${columns(integer, ['starting', 'exit_code?', 'started_at?', 'updated_at', 'stdout_bytes?', 'stderr_bytes?'])},
    primary key (job_id, node)
  ) ${keyed}`.execute(db);
  await sql`create table deleted_push_jobs (${columns(text, ['job_id'])}, primary key (job_id)) ${keyed}`.execute(db);
}

async function owners(db: Kysely<unknown>, { text, integer, keyed }: Dialect): Promise<void> {
  await sql`create table push_node_owners (
    ${columns(text, ['org_id', 'node', 'owner', 'job_id?', 'reason?', 'server'])}, ${columns(integer, ['since'])},
    primary key (org_id, node)
  ) ${keyed}`.execute(db);
  await sql`create table push_node_commands (
    ${columns(text, ['org_id', 'node', 'commands'])}, primary key (org_id, node)
  ) ${keyed}`.execute(db);
}

async function files(db: Kysely<unknown>, { text, integer, bytes, table, keyed }: Dialect): Promise<void> {
  await sql`create table push_files (
    id ${text} primary key,
    ${columns(text, ['org_id', 'sha256'])}, ${columns(integer, ['size', 'stored', 'complete', 'used_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index push_files_content on push_files (org_id, sha256)`.execute(db);
  await sql`create index push_files_used on push_files (used_at)`.execute(db);
  await sql`create table push_file_pieces (
    ${columns(text, ['file_id'])}, ${columns(integer, ['position'])}, ${columns(bytes, ['data'])},
    primary key (file_id, position)
  ) ${table}`.execute(db);
  await sql`create table deleted_push_files (${columns(text, ['file_id'])}, primary key (file_id)) ${keyed}`.execute(
    db,
  );
}

async function settings(db: Kysely<unknown>, { text, integer, keyed }: Dialect): Promise<void> {
  await sql`create table push_settings (
    ${columns(text, ['org_id', 'quorum?', 'approval'])}, ${columns(integer, ['max_nodes?', 'max_running?', 'max_starts?'])},
    primary key (org_id)
  ) ${keyed}`.execute(db);
}

async function runbooks(db: Kysely<unknown>, { text, integer, table, keyed }: Dialect): Promise<void> {
  await sql`create table push_runbooks (
    id ${text} primary key,
    ${columns(text, ['org_id', 'name', 'description', 'runners', 'author_id', 'author_name'])},
    ${columns(integer, ['version', 'created_at', 'updated_at'])}
  ) ${table}`.execute(db);
  await sql`create unique index push_runbooks_name on push_runbooks (org_id, name)`.execute(db);
  await sql`create table push_runbook_versions (
    ${columns(text, ['runbook_id', 'definition', 'author_name'])}, ${columns(integer, ['version', 'created_at'])},
    primary key (runbook_id, version)
  ) ${keyed}`.execute(db);
  await sql`create table push_approvals (
    id ${text} primary key,
    ${columns(text, ['org_id', 'status', 'runbook', 'command', 'target', 'parameters', 'order_text', 'hash'])},
    ${columns(text, ['asker_id', 'asker_name', 'approvers', 'decided_by_id?', 'decided_by?', 'reason?', 'job_id?'])},
    ${columns(integer, ['version', 'created_at', 'expires_at', 'decided_at?'])}
  ) ${table}`.execute(db);
  await sql`create index push_approvals_newest on push_approvals (org_id, status, created_at desc)`.execute(db);
  await sql`create index push_approvals_due on push_approvals (status, expires_at)`.execute(db);
}

/** What waited before is asked for again: what would be started was written otherwise. */
async function policies(db: Kysely<unknown>, { text, integer, table, keyed }: Dialect): Promise<void> {
  await sql`create table push_approval_policies (
    ${columns(text, ['org_id', 'name', 'node_group?', 'approvers'])}, ${columns(integer, ['above', 'grants', 'within?'])},
    primary key (org_id, name)
  ) ${keyed}`.execute(db);
  await sql`create table push_approvals_of_all (
    id ${text} primary key,
    ${columns(text, ['org_id', 'status', 'kind', 'name?', 'command', 'target', 'parameters', 'order_text', 'hash'])},
    ${columns(text, ['asker_id', 'asker_name', 'needs', 'grants', 'decided_by_id?', 'decided_by?', 'reason?', 'job_id?'])},
    ${columns(integer, ['version?', 'created_at', 'expires_at', 'decided_at?'])}
  ) ${table}`.execute(db);
  await sql`insert into push_approvals_of_all (id, org_id, status, kind, name, command, target, parameters, order_text, hash,
      asker_id, asker_name, needs, grants, decided_by_id, decided_by, reason, job_id, version, created_at, expires_at, decided_at)
    select id, org_id, case when status = 'pending' then 'expired' else status end, 'runbook', runbook, command, target,
      parameters, '', hash, asker_id, asker_name, '[]', '[]', decided_by_id, decided_by, reason, job_id, version, created_at,
      expires_at, decided_at
    from push_approvals`.execute(db);
  await sql`drop table push_approvals`.execute(db);
  await sql`alter table push_approvals_of_all rename to push_approvals`.execute(db);
  await sql`create index push_approvals_newest on push_approvals (org_id, status, created_at desc)`.execute(db);
  await sql`create index push_approvals_due on push_approvals (status, expires_at)`.execute(db);
}
