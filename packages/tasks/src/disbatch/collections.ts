import type { Schema } from '@muster/store';
import type { Json } from '@muster/wire';
import type { Kysely } from 'kysely';
import { plain } from './extended.js';
import type { Condition, Document } from './filter/condition.js';
import { matches } from './filter/match.js';
import { DISBATCH_LIMITS } from './limits.js';
import { pageOfDocuments } from './reads.js';

/** Letters, digits and what else names of MongoDB's collections usually have. */
export function isCollectionName(name: string): boolean {
  return /^[\w.-]{1,120}$/.test(name);
}

/** Documents of a collection that fulfil a condition, in their order, a page in memory at a time. */
export async function* documentsOf(
  read: Kysely<Schema>,
  orgId: string,
  name: string,
  condition: Condition,
): AsyncGenerator<Document> {
  // PostgreSQL takes no NUL, and no collection has one in its name.
  if (!isCollectionName(name)) return;
  let from = 0;
  for (;;) {
    const page = await pageOfDocuments(read, { orgId, name, from, limit: DISBATCH_LIMITS.documents });
    for (const { document } of page) {
      const parsed = JSON.parse(document) as Document;
      if (matches(condition, plain(parsed as Json, 'ms') as Document)) yield parsed;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < DISBATCH_LIMITS.documents) return;
    from = last.position;
  }
}
