import { type Kysely, sql } from 'kysely';
import { moveJobEvents } from './002-job-events.js';
import type { Dialect, Migration } from './types.js';

/** The durable log of events, what future events, durable subscriptions and grants need, and how jobs are found and end. */
export const events: Migration = {
  version: 2,
  name: 'events',
  async up(db, dialect) {
    await log(db, dialect);
    await schedule(db, dialect);
    await subscriptions(db, dialect);
    await moveJobEvents(db);
    await jobs(db, dialect);
  },
};

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

async function jobs(db: Kysely<unknown>, { text, keyed }: Dialect): Promise<void> {
  // Finds jobs by the beginning of their id.
  await sql`create unique index jobs_lookup on jobs (org_id, id)`.execute(db);
  // With the time it also finds the jobs that ended long ago.
  await sql`drop index jobs_phase`.execute(db);
  await sql`create index jobs_phase on jobs (phase, updated_at)`.execute(db);
  await sql`create table deleted_jobs (job_id ${text} primary key) ${keyed}`.execute(db);
}
