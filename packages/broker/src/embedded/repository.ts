import type { RowOf, Schema, Store, Write } from '@muster/store';
import { guard, insert, update } from '@muster/store';
import type { Transaction } from 'kysely';
import type { Exchange } from '../topology.js';
import type { Headers } from '../types.js';
import './tables.js';

const addExchange = insert('broker_exchanges', { name: 'text', type: 'text', alternate: 'text' }, ['name']);
const addQueue = insert('broker_queues', { name: 'text', dead_letter: 'text', holder: 'text' }, ['name']);
const addBinding = insert('broker_bindings', { exchange: 'text', queue: 'text', key: 'text' }, [
  'exchange',
  'queue',
  'key',
]);
const MESSAGE = {
  queue: 'text',
  id: 'text',
  exchange: 'text',
  key: 'text',
  headers: 'text',
  body: 'bytes',
  died_in: 'text',
} as const;
const addMessage = insert('broker_messages', MESSAGE);
const heldBy = guard('broker_messages', { position: 'integer', holder: 'text', settled: 'integer' }, ['position']);
const take = update('broker_messages', { position: 'integer', holder: 'text' }, ['position']);
const settle = update('broker_messages', { position: 'integer', settled: 'integer' }, ['position']);
const giveBack = update('broker_messages', { position: 'integer', holder: 'text', redelivered: 'integer' }, [
  'position',
]);

export type QueueRow = Schema['broker_queues'];
export type BindingRow = Schema['broker_bindings'];

/** A message in a queue, as it is read. */
export interface MessageRow {
  readonly position: number;
  readonly queue: string;
  readonly id: string;
  readonly exchange: string;
  readonly key: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  readonly redelivered: boolean;
  readonly diedIn: string | null;
}

export type NewMessage = Omit<MessageRow, 'position' | 'redelivered'>;

/** Writes for group commits. Those about a message hold only as long as the process has it in hand. */
export const writes = {
  exchange: ({ name, type, alternate = null }: { name: string; type: Exchange['type']; alternate?: string | null }) =>
    addExchange({ name, type, alternate }),
  queue: (row: QueueRow): Write => addQueue(row),
  binding: (row: BindingRow): Write => addBinding(row),
  message: ({ headers, diedIn, ...row }: NewMessage): Write =>
    addMessage({ ...row, headers: JSON.stringify(headers), died_in: diedIn } satisfies RowOf<
      'broker_messages',
      typeof MESSAGE
    >),
  /** @param from null: nobody has it. */
  take: (position: number, from: string | null, to: string): Write[] => [
    heldBy({ position, holder: from, settled: 0 }),
    take({ position, holder: to }),
  ],
  settle: (position: number, holder: string): Write[] => [
    heldBy({ position, holder, settled: 0 }),
    settle({ position, settled: 1 }),
  ],
  giveBack: (position: number, holder: string): Write[] => [
    heldBy({ position, holder, settled: 0 }),
    giveBack({ position, holder: null, redelivered: 1 }),
  ],
};

const COLUMNS = ['position', 'queue', 'id', 'exchange', 'key', 'headers', 'body', 'redelivered', 'died_in'] as const;

type Read = Pick<{ [K in keyof Schema['broker_messages']]: unknown }, (typeof COLUMNS)[number]>;

function messageOf(row: Read): MessageRow {
  const { position, queue, id, exchange, key, headers, body, redelivered, died_in: diedIn } = row;
  return {
    position: position as number,
    queue: queue as string,
    id: id as string,
    exchange: exchange as string,
    key: key as string,
    headers: JSON.parse(headers as string) as Headers,
    body: body as Uint8Array,
    redelivered: redelivered === 1,
    diedIn: diedIn as string | null,
  };
}

/** The first that wait in a queue. */
export async function waiting(store: Store, queue: string, most: number): Promise<MessageRow[]> {
  const found = await store.read
    .selectFrom('broker_messages')
    .select(COLUMNS)
    .where('queue', '=', queue)
    .where('holder', 'is', null)
    .where('settled', '=', 0)
    .orderBy('position')
    .limit(most)
    .execute();
  return found.map(messageOf);
}

/** All that a process has in hand. */
export async function inHandOf(store: Store, holder: string): Promise<MessageRow[]> {
  const found = await store.read
    .selectFrom('broker_messages')
    .select(COLUMNS)
    .where('holder', '=', holder)
    .where('settled', '=', 0)
    .orderBy('position')
    .execute();
  return found.map(messageOf);
}

/** Processes that have something in hand, or queues that go with them. */
export async function holders(store: Store): Promise<string[]> {
  const messages = store.read
    .selectFrom('broker_messages')
    .select('holder')
    .where('holder', 'is not', null)
    .where('settled', '=', 0);
  const queues = store.read.selectFrom('broker_queues').select('holder').where('holder', 'is not', null);
  const rows = await messages.union(queues).execute();
  return rows.map(({ holder }) => holder).filter((holder) => holder !== null);
}

/** What a process had goes back to the queues. @param holder null: every process. */
export async function release(trx: Transaction<Schema>, holder: string | null): Promise<void> {
  const own = trx.selectFrom('broker_queues').select('name');
  const names = holder === null ? own.where('holder', 'is not', null) : own.where('holder', '=', holder);
  await dropQueues(
    trx,
    (await names.execute()).map(({ name }) => name),
  );
  const held = trx.updateTable('broker_messages').set({ holder: null, redelivered: 1 }).where('settled', '=', 0);
  await (holder === null ? held.where('holder', 'is not', null) : held.where('holder', '=', holder)).execute();
}

/** Names in one query. */
const NAMES = 500;

export async function dropQueues(trx: Transaction<Schema>, names: readonly string[]): Promise<void> {
  for (let begin = 0; begin < names.length; begin += NAMES) {
    const some = names.slice(begin, begin + NAMES);
    await trx.deleteFrom('broker_bindings').where('queue', 'in', some).execute();
    await trx.deleteFrom('broker_messages').where('queue', 'in', some).execute();
    await trx.deleteFrom('broker_queues').where('name', 'in', some).execute();
  }
}

export async function dropExchange(trx: Transaction<Schema>, name: string): Promise<void> {
  await trx.deleteFrom('broker_bindings').where('exchange', '=', name).execute();
  await trx.deleteFrom('broker_exchanges').where('name', '=', name).execute();
}

/** Deletes messages that are done with, but no more than so many. True when none is left. */
export async function sweep(trx: Transaction<Schema>, most: number): Promise<boolean> {
  const some = trx.selectFrom('broker_messages').select('position').where('settled', '=', 1).limit(most);
  const { numDeletedRows } = await trx
    .deleteFrom('broker_messages')
    .where('position', 'in', some)
    .executeTakeFirstOrThrow();
  return Number(numDeletedRows) < most;
}

export async function exchangeRow(store: Store, name: string) {
  return store.read.selectFrom('broker_exchanges').selectAll().where('name', '=', name).executeTakeFirst();
}

export async function queueRow(store: Store, name: string) {
  return store.read.selectFrom('broker_queues').selectAll().where('name', '=', name).executeTakeFirst();
}

export async function bindingsOf(store: Store, exchange: string): Promise<BindingRow[]> {
  return store.read.selectFrom('broker_bindings').selectAll().where('exchange', '=', exchange).execute();
}

/** How many messages wait in a queue, and how many are in hand. */
export async function depthOf(store: Store, queue: string): Promise<{ ready: number; held: number }> {
  const row = await store.read
    .selectFrom('broker_messages')
    .select(({ fn }) => [fn.countAll().as('all'), fn.count('holder').as('held')])
    .where('queue', '=', queue)
    .where('settled', '=', 0)
    .executeTakeFirstOrThrow();
  const held = Number(row.held);
  return { ready: Number(row.all) - held, held };
}
