import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

export const jobMigrations: Migrations = {
  package: 'jobs',
  steps: [
    {
      name: 'jobs',
      async up(db, { text, integer, bytes, table, keyed }) {
        await sql`create table jobs (
        uuid ${text} primary key,
        ${columns(text, ['org_id', 'tenant', 'name', 'owner', 'roles?', 'queue', 'status', 'resume_at?', 'condition?'])},
        ${columns(text, ['last_message'])},
        ${columns(integer, ['accepted', 'created?', 'ended?', 'last_updated'])},
        ${columns(text, ['system_id', 'app_id', 'app_uuid', 'work_path?'])},
        ${columns(integer, ['archive', 'archive_on_app_error'])},
        ${columns(text, ['archive_path?', 'archive_system?'])},
        ${columns(integer, ['node_count', 'processors_per_node', 'memory_mb', 'max_seconds'])},
        ${columns(text, ['inputs', 'parameters', 'request'])},
        ${columns(text, ['remote_job_id?', 'scheduler_job_id?', 'remote_queue?'])},
        ${columns(integer, ['remote_submitted?', 'remote_started?', 'remote_ended?'])},
        ${columns(text, ['remote_outcome?'])}, ${columns(integer, ['exit_code?'])},
        ${columns(text, ['remote_condition?', 'remote_detail?'])},
        submit_retries ${integer} not null default 0,
        status_checks ${integer} not null default 0,
        failed_checks ${integer} not null default 0,
        ${columns(integer, ['last_check?'])},
        blocked_count ${integer} not null default 0,
        visible ${integer} not null default 1,
        ${columns(text, ['wanted?', 'wanted_by?', 'worker?'])},
        epoch ${integer} not null default 0,
        subscriptions ${integer} not null default 0,
        ${columns(text, ['idempotency_key?'])},
        foreign_job ${integer} not null default 0
      ) ${table}`.execute(db);
        await sql`create index jobs_owner on jobs (org_id, owner, last_updated)`.execute(db);
        await sql`create index jobs_status on jobs (org_id, status, last_updated)`.execute(db);
        await sql`create index jobs_updated on jobs (org_id, last_updated)`.execute(db);
        await sql`create index jobs_app on jobs (org_id, app_id)`.execute(db);
        await sql`create index jobs_system on jobs (org_id, system_id, status)`.execute(db);
        await sql`create index jobs_ended on jobs (ended) where ended is not null`.execute(db);
        await sql`create unique index jobs_idempotency on jobs (org_id, owner, idempotency_key)
          where idempotency_key is not null`.execute(db);

        await sql`create table job_history (
        ${columns(text, ['uuid', 'id', 'event', 'status'])}, ${columns(integer, ['at'])},
        ${columns(text, ['by', 'description', 'address?'])},
        primary key (uuid, id)
      ) ${keyed}`.execute(db);
        await sql`create table job_permissions (
        ${columns(text, ['uuid', 'username', 'permission'])}, ${columns(integer, ['updated'])},
        primary key (uuid, username)
      ) ${keyed}`.execute(db);
        await sql`create index job_permissions_user on job_permissions (username, uuid)`.execute(db);
        await sql`create table job_refusals (
        ${columns(text, ['uuid'])}, ${columns(integer, ['at'])}, primary key (uuid)
      ) ${keyed}`.execute(db);

        await sql`create table job_queues (
        uuid ${text} primary key, ${columns(text, ['org_id', 'name'])}, ${columns(integer, ['priority'])},
        ${columns(text, ['filter'])}, ${columns(integer, ['created', 'last_updated'])}
      ) ${table}`.execute(db);
        await sql`create unique index job_queues_name on job_queues (org_id, name)`.execute(db);
        await sql`create unique index job_queues_priority on job_queues (org_id, priority)`.execute(db);
        await sql`create table job_systems (
        id ${text} primary key, ${columns(text, ['uuid', 'org_id', 'name', 'type'])},
        ${columns(integer, ['enabled', 'is_default'])}, ${columns(text, ['owner', 'definition'])},
        ${columns(bytes, ['secret?'])}, ${columns(integer, ['created', 'last_updated'])}
      ) ${table}`.execute(db);
        await sql`create unique index job_systems_name on job_systems (org_id, name)`.execute(db);
        await sql`create table job_apps (
        uuid ${text} primary key, ${columns(text, ['org_id', 'app_id'])}, ${columns(integer, ['enabled', 'is_public'])},
        ${columns(text, ['owner', 'definition'])}, ${columns(integer, ['created', 'last_updated'])}
      ) ${table}`.execute(db);
        await sql`create unique index job_apps_name on job_apps (org_id, app_id)`.execute(db);
        await sql`create table job_workers (
        uuid ${text} primary key, ${columns(text, ['org_id', 'name', 'host', 'queue'])}, ${columns(integer, ['slots'])},
        ${columns(text, ['state'])}, ${columns(integer, ['started'])}, ${columns(text, ['version'])},
        lost ${integer} not null default 0
      ) ${table}`.execute(db);

        await sql`create table job_recovery (
        id ${text} primary key, ${columns(text, ['org_id', 'condition', 'tester', 'tester_parameters'])},
        ${columns(text, ['policy', 'policy_parameters'])}, attempts ${integer} not null default 0,
        ${columns(text, ['last_answer?'])}, next_attempt ${integer} not null default 0,
        created ${integer} not null default 0, ${columns(integer, ['last_updated'])}
      ) ${table}`.execute(db);
        await sql`create index job_recovery_organization on job_recovery (org_id)`.execute(db);
        await sql`create table job_blocked (
        ${columns(text, ['uuid', 'recovery_id', 'org_id', 'success_status', 'message'])}, ${columns(integer, ['created'])},
        ${columns(text, ['state'])},
        primary key (uuid)
      ) ${keyed}`.execute(db);
        await sql`create index job_blocked_recovery on job_blocked (recovery_id, state, created)`.execute(db);
        await sql`create index job_blocked_organization on job_blocked (org_id, state)`.execute(db);

        await sql`create table job_notifications (
        id ${text} primary key, ${columns(text, ['uuid', 'org_id', 'event', 'url'])}, ${columns(integer, ['persistent'])},
        ${columns(text, ['policy', 'status'])}, ${columns(integer, ['created'])}
      ) ${table}`.execute(db);
        await sql`create index job_notifications_job on job_notifications (uuid)`.execute(db);
        await sql`create table job_stray_messages (
        id ${text} primary key, ${columns(text, ['kind', 'org_id?', 'exchange', 'routing_key', 'reason?'])},
        ${columns(bytes, ['body'])}, ${columns(integer, ['length', 'at'])}
      ) ${table}`.execute(db);
        await sql`create index job_stray_messages_kind on job_stray_messages (kind, at)`.execute(db);
      },
    },
  ],
};
