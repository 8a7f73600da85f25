import { columns, type Migrations } from '@muster/store';
import { sql } from 'kysely';
import './tables.js';

export const brokerMigrations: Migrations = {
  package: 'broker',
  steps: [
    {
      name: 'exchanges, queues, bindings and messages',
      async up(db, { text, integer, bytes, serial, table, keyed }) {
        await sql`create table broker_exchanges (
          name ${text} primary key, ${columns(text, ['type', 'alternate?'])}
        ) ${keyed}`.execute(db);
        await sql`create table broker_queues (
          name ${text} primary key, ${columns(text, ['dead_letter?', 'holder?'])}
        ) ${keyed}`.execute(db);
        await sql`create table broker_bindings (
          ${columns(text, ['exchange', 'queue', 'key'])}, primary key (exchange, queue, key)
        ) ${keyed}`.execute(db);
        await sql`create table broker_messages (
          position ${serial}, ${columns(text, ['queue', 'id', 'exchange', 'key', 'headers'])}, ${columns(bytes, ['body'])},
          redelivered ${integer} not null default 0, holder ${text}, settled ${integer} not null default 0, died_in ${text}
        ) ${table}`.execute(db);
        await sql`create index broker_messages_waiting on broker_messages (queue, position)
          where holder is null and settled = 0`.execute(db);
        await sql`create index broker_messages_held on broker_messages (holder) where holder is not null and settled = 0`.execute(
          db,
        );
        await sql`create index broker_messages_settled on broker_messages (position) where settled = 1`.execute(db);
      },
    },
  ],
};
