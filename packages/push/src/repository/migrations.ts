import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

export const pushMigrations: Migrations = {
  package: 'push',
  steps: [
    {
      name: 'push jobs',
      async up(db, { text, integer, table, keyed }) {
        await sql`create table push_jobs (
        id ${text} primary key,
        ${columns(text, ['org_id', 'command', 'spec', 'requester', 'status', 'phase', 'ending?', 'reason?'])},
        ${columns(integer, ['node_count', 'created_at', 'updated_at', 'deadline?'])}
      ) ${table}`.execute(db);
        await sql`create index push_jobs_newest on push_jobs (org_id, created_at desc, id)`.execute(db);
        // Finds the unfinished push jobs at start (decision N10), and those that ended long ago.
        await sql`create index push_jobs_phase on push_jobs (phase, updated_at)`.execute(db);
        // Finds push jobs by the beginning of their id.
        await sql`create unique index push_jobs_lookup on push_jobs (org_id, id)`.execute(db);

        await sql`create table push_job_nodes (
        ${columns(text, ['job_id', 'node', 'status', 'reason?', 'signal?', 'output_missing?'])},
        ${columns(integer, ['starting', 'exit_code?', 'started_at?', 'updated_at', 'stdout_bytes?', 'stderr_bytes?'])},
        primary key (job_id, node)
      ) ${keyed}`.execute(db);

        await sql`create table push_node_owners (
        ${columns(text, ['org_id', 'node', 'owner', 'job_id?', 'reason?', 'server'])}, ${columns(integer, ['since'])},
        primary key (org_id, node)
      ) ${keyed}`.execute(db);
        await sql`create table deleted_push_jobs (${columns(text, ['job_id'])}, primary key (job_id)) ${keyed}`.execute(
          db,
        );
      },
    },
  ],
};
