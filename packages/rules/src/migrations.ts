import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

export const ruleMigrations: Migrations = {
  package: 'rules',
  steps: [
    {
      name: 'rules and their runs',
      async up(db, { text, integer, table, keyed }) {
        await sql`create table rules (
          id ${text} primary key, ${columns(text, ['org_id', 'name', 'selector', 'work', 'not_during', 'blackout'])},
          ${columns(text, ['owner_id', 'owner_type', 'owner_name'])},
          ${columns(integer, ['most_runs', 'most_seconds', 'enabled', 'since', 'skipped', 'created_at', 'updated_at'])}
        ) ${table}`.execute(db);
        await sql`create unique index rules_name on rules (org_id, name)`.execute(db);
        await sql`create table rule_runs (
          ${columns(text, ['rule_id', 'org_id', 'event', 'outcome', 'kind', 'run?', 'reason?', 'attributes?'])},
          ${columns(integer, ['position', 'at', 'depth', 'held_until?'])}, primary key (rule_id, position)
        ) ${keyed}`.execute(db);
        await sql`create index rule_runs_run on rule_runs (run) where run is not null`.execute(db);
        await sql`create index rule_runs_waiting on rule_runs (rule_id) where outcome = 'waiting'`.execute(db);
        await sql`create index rule_runs_age on rule_runs (at)`.execute(db);
        await sql`create index rule_runs_organization on rule_runs (org_id)`.execute(db);
      },
    },
    {
      name: 'rules to which others agreed',
      async up(db, { text }) {
        await sql`alter table rules add column asks ${text}`.execute(db);
        await sql`alter table rules add column agreement ${text}`.execute(db);
      },
    },
  ],
};
