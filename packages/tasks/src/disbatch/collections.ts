import type { Schema } from '@muster/store';
import type { Json } from '@muster/wire';
import type { Kysely } from 'kysely';
import type { Condition, Document } from './filter/condition.js';
import { matches } from './filter/match.js';
import { DISBATCH_LIMITS } from './limits.js';
import { pageOfDocuments } from './reads.js';

/** Documents of a collection that fulfil a condition, in their order, a page in memory at a time. */
export async function* documentsOf(
  read: Kysely<Schema>,
  orgId: string,
  name: string,
  condition: Condition,
): AsyncGenerator<Document> {
  let from = 0;
  for (;;) {
    const page = await pageOfDocuments(read, { orgId, name, from, limit: DISBATCH_LIMITS.documents });
    for (const { document } of page) {
      const parsed = JSON.parse(document) as Document;
      if (matches(condition, plain(parsed) as Document)) yield parsed;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < DISBATCH_LIMITS.documents) return;
    from = last.position;
  }
}

/** As filters are read: Extended JSON is what it stands for. */
function plain(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(plain);
  const entries = Object.entries(value);
  const [entry] = entries;
  if (entries.length === 1 && entry !== undefined) {
    const [name, inner] = entry;
    if (name === '$oid' && typeof inner === 'string') return inner.toLowerCase();
    if (NUMBERS.has(name) && !Number.isNaN(Number(inner))) return Number(inner);
    if (name === '$date') return dateOf(plain(inner as Json));
  }
  return Object.fromEntries(entries.map(([name, inner]) => [name, plain(inner as Json)]));
}

const NUMBERS: ReadonlySet<string> = new Set(['$numberInt', '$numberLong', '$numberDouble']);

function dateOf(value: Json): Json {
  const ms = typeof value === 'string' ? Date.parse(value) : value;
  return typeof ms === 'number' && !Number.isNaN(ms) ? ms : value;
}
