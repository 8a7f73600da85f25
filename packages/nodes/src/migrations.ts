import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

export const nodesMigrations: Migrations = {
  package: 'nodes',
  steps: [
    {
      name: 'nodes',
      async up(db, { text, integer, table, keyed }) {
        await sql`create table nodes (
        ${columns(text, ['org_id', 'name', 'status', 'reason', 'incarnation?', 'last_end?'])},
        ${columns(text, ['dialect?', 'key_fingerprint?', 'facts', 'labels'])},
        ${columns(integer, ['status_at', 'created_at'])},
        primary key (org_id, name)
      ) ${keyed}`.execute(db);
        await sql`create table ssh_nodes (
        id ${text} primary key, ${columns(text, ['org_id', 'name', 'host', 'login', 'host_key?'])},
        ${columns(text, ['key_secret?', 'password_secret?', 'policy'])},
        ${columns(integer, ['port', 'created_at', 'updated_at'])}
      ) ${table}`.execute(db);
        await sql`create unique index ssh_nodes_name on ssh_nodes (org_id, name)`.execute(db);
      },
    },
  ],
};
