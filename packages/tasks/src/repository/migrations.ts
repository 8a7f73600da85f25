import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import '../bulk/tables.js';
import '../calendars/tables.js';
import '../schedules/tables.js';
import './tables.js';

export const taskMigrations: Migrations = {
  package: 'tasks',
  steps: [
    {
      name: 'queues and tasks',
      async up(db, { text, integer, table, keyed }) {
        await sql`create table task_queues (
        id ${text} primary key,
        ${columns(text, ['org_id', 'name', 'plugin', 'state', 'rules'])},
        ${columns(integer, ['threads?', 'created_at', 'updated_at'])}
      ) ${table}`.execute(db);
        await sql`create unique index task_queues_name on task_queues (org_id, name)`.execute(db);

        await sql`create table tasks (
        id ${text} primary key,
        ${columns(text, ['org_id', 'queue_id', 'params', 'options?', 'lane', 'requester'])},
        ${columns(integer, ['ctime', 'status'])},
        ${columns(text, ['node?', 'incarnation?'])},
        attempt ${integer} not null default 0,
        failures ${integer} not null default 0,
        orphanings ${integer} not null default 0,
        rank ${integer} not null default 0,
        ${columns(integer, ['not_before?', 'expires_at?'])},
        waits_for ${integer} not null default 0,
        cancelling ${integer} not null default 0,
        ${columns(text, ['reason?'])},
        ${columns(integer, ['mtime', 'started_at?', 'ended_at?', 'exit_code?'])},
        ${columns(text, ['signal?', 'stdout?', 'stderr?'])},
        ${columns(integer, ['stdout_bytes?', 'stderr_bytes?', 'complete?'])}
      ) ${table}`.execute(db);
        // In the order in which they are assigned, of each lane by itself.
        await sql`create index tasks_ready on tasks (queue_id, lane, rank, id)
          where status = -2 and not_before is null`.execute(db);
        await sql`create index tasks_status on tasks (queue_id, status, id)`.execute(db);
        await sql`create index tasks_active on tasks (status, id) where status = -1 or status = 0`.execute(db);
        await sql`create index tasks_due on tasks (not_before)
          where not_before is not null and status = -2`.execute(db);
        await sql`create index tasks_expiry on tasks (expires_at)
          where expires_at is not null and (status = -2 or status = -4)`.execute(db);

        await sql`create table task_attempts (
        ${columns(text, ['task_id'])}, ${columns(integer, ['attempt'])}, ${columns(text, ['node', 'reason?', 'signal?'])},
        ${columns(integer, ['status', 'started_at?', 'ended_at', 'exit_code?', 'stdout_bytes?', 'stderr_bytes?'])},
        ${columns(text, ['stdout?', 'stderr?'])},
        primary key (task_id, attempt)
      ) ${keyed}`.execute(db);
        await sql`create table task_dependencies (
        ${columns(text, ['task_id', 'after_id'])}, primary key (task_id, after_id)
      ) ${keyed}`.execute(db);
        await sql`create index task_dependencies_after on task_dependencies (after_id)`.execute(db);
        await sql`create table task_keys (
        ${columns(text, ['queue_id', 'key', 'task_id'])}, ${columns(integer, ['until'])}, primary key (queue_id, key)
      ) ${keyed}`.execute(db);
        await sql`create table deleted_tasks (${columns(text, ['task_id'])}, primary key (task_id)) ${keyed}`.execute(
          db,
        );
        await sql`create table deleted_task_queues (
        ${columns(text, ['queue_id'])}, primary key (queue_id)
      ) ${keyed}`.execute(db);
        await sql`create table task_nodes (
        ${columns(text, ['org_id', 'node', 'id'])}, ${columns(integer, ['maxthreads?', 'seen_at?'])},
        primary key (org_id, node)
      ) ${keyed}`.execute(db);

        await sql`create table schedules (
        id ${text} primary key,
        ${columns(text, ['org_id', 'name', 'cron', 'timezone', 'missed', 'overlap', 'kind', 'queue_id?', 'command?'])},
        ${columns(text, ['not_during', 'blackout', 'blackout_calendar?'])}, ${columns(integer, ['blackout_until?'])},
        ${columns(text, ['work', 'owner_id', 'owner_type', 'owner_name', 'status', 'reason?'])},
        ${columns(integer, ['next_at?', 'waiting_at?', 'last_due_at?', 'last_started_at?', 'missed_at?'])},
        ${columns(text, ['last_run?', 'missed_reason?'])},
        ${columns(integer, ['created_at', 'updated_at'])}
      ) ${table}`.execute(db);
        await sql`create unique index schedules_name on schedules (org_id, name)`.execute(db);
        await sql`create table calendars (
        ${columns(text, ['org_id', 'name', 'description', 'timezone', 'entries'])},
        ${columns(integer, ['created_at', 'updated_at'])}, primary key (org_id, name)
      ) ${keyed}`.execute(db);
        await sql`create table task_balances (
        ${columns(text, ['org_id', 'document'])}, primary key (org_id)
      ) ${keyed}`.execute(db);
        await sql`create table task_documents (
        ${columns(text, ['org_id', 'collection', 'document'])}, ${columns(integer, ['position'])},
        primary key (org_id, collection, position)
      ) ${keyed}`.execute(db);
        await sql`create table task_import_files (
        ${columns(text, ['org_id', 'file_id', 'task_id', 'stream'])}, ${columns(integer, ['attempt', 'next', 'bytes'])},
        primary key (org_id, file_id)
      ) ${keyed}`.execute(db);
      },
    },
    {
      name: 'what became of the times of schedules',
      async up(db, { text, integer, keyed }) {
        await sql`create table schedule_runs (
        ${columns(text, ['schedule_id', 'id', 'org_id', 'outcome', 'kind', 'run?', 'reason?'])},
        ${columns(integer, ['at', 'due_at', 'count'])}, primary key (schedule_id, id)
      ) ${keyed}`.execute(db);
        await sql`create index schedule_runs_newest on schedule_runs (schedule_id, at)`.execute(db);
        await sql`create index schedule_runs_age on schedule_runs (at)`.execute(db);
        await sql`create index schedule_runs_organization on schedule_runs (org_id)`.execute(db);
      },
    },
    {
      name: 'schedules to which others agreed',
      async up(db, { text }) {
        await sql`alter table schedules add column approval ${text}`.execute(db);
      },
    },
    {
      name: 'actions on many tasks that the server carries out',
      async up(db, { text, integer, table }) {
        await sql`create table task_bulk_runs (
        id ${text} primary key,
        ${columns(text, ['org_id', 'queue_id?', 'action', 'selector?', 'ids?', 'until?'])},
        ${columns(integer, ['code?', 'counted?'])},
        ${columns(text, ['owner_id', 'owner_type', 'owner_name', 'state', 'reason?', 'place?', 'refused'])},
        ${columns(integer, ['matched', 'acted', 'created_at', 'ended_at?'])}
      ) ${table}`.execute(db);
        await sql`create index task_bulk_runs_newest on task_bulk_runs (org_id, id)`.execute(db);
        await sql`create index task_bulk_runs_running on task_bulk_runs (id) where state = 'running'`.execute(db);
        await sql`create index task_bulk_runs_age on task_bulk_runs (ended_at)`.execute(db);
      },
    },
    {
      name: 'imported files of output by their tasks',
      async up(db) {
        await sql`create index task_import_files_tasks on task_import_files (org_id, task_id)`.execute(db);
      },
    },
  ],
};
