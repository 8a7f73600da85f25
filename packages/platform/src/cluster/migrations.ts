import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

/** Apart from the others: servers of several versions stand by, and only the one that leads brings the other tables up to date. */
export const clusterMigrations: Migrations = {
  package: 'cluster',
  steps: [
    {
      name: 'servers, drained servers, shared files',
      async up(db, { text, integer, bytes, table, keyed }) {
        await sql`create table cluster_servers (
          incarnation ${text} primary key, ${columns(text, ['name', 'url', 'certificate?', 'version'])},
          ${columns(integer, ['started_at', 'seen_at'])}
        ) ${table}`.execute(db);
        await sql`create table cluster_drained (name ${text} primary key, since ${integer} not null) ${keyed}`.execute(
          db,
        );
        await sql`create table cluster_files (name ${text} primary key, sealed ${bytes} not null) ${table}`.execute(db);
      },
    },
    {
      name: 'what was told of servers',
      async up(db, { text, integer, keyed }) {
        await sql`create table cluster_told (name ${text} primary key, lost ${integer} not null) ${keyed}`.execute(db);
      },
    },
  ],
};
