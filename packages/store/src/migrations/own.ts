import { sql } from 'kysely';
import { columns } from './columns.js';
import type { Migrations } from './types.js';

export const storeMigrations: Migrations = {
  package: 'store',
  steps: [
    {
      name: 'commit marker, counters and leases',
      async up(db, { text, integer, table, keyed }) {
        await sql`create table commit_marker (
          lane ${text} primary key, ${columns(integer, ['seq', 'at'])}, first ${integer} not null default 0
        ) ${table}`.execute(db);
        await sql`create table counters (name ${text} primary key, last ${integer} not null) ${keyed}`.execute(db);
        await sql`create table leases (
          name ${text} primary key, holder ${text}, epoch ${integer} not null, expires_at ${integer} not null
        ) ${keyed}`.execute(db);
      },
    },
  ],
};
