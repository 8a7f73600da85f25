import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

export const nodesMigrations: Migrations = {
  package: 'nodes',
  steps: [
    {
      name: 'nodes',
      async up(db, { text, integer, keyed }) {
        await sql`create table nodes (
        ${columns(text, ['org_id', 'name', 'status', 'reason', 'incarnation?', 'last_end?'])},
        ${columns(text, ['dialect?', 'key_fingerprint?', 'facts', 'labels'])},
        ${columns(integer, ['status_at', 'created_at'])},
        primary key (org_id, name)
      ) ${keyed}`.execute(db);
      },
    },
  ],
};
