import type { Kysely } from 'kysely';
import type { Schema } from './schema.js';

/** The last number that was given in a table; 0 when there was none. See `Merge`. */
export async function lastNumber(read: Kysely<Schema>, table: keyof Schema): Promise<number> {
  const counter = await read.selectFrom('counters').select('last').where('name', '=', table).executeTakeFirst();
  return counter?.last ?? 0;
}
