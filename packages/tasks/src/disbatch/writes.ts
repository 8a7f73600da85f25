import { insert, type Schema, upsert, type Write } from '@muster/store';
import type { Selectable } from 'kysely';
import type {} from '../repository/tables.js';

export const saveBalance: (row: Selectable<Schema['task_balances']>) => Write = upsert(
  'task_balances',
  { org_id: 'text', document: 'text' },
  ['org_id'],
);

export const addDocument: (row: Selectable<Schema['task_documents']>) => Write = insert(
  'task_documents',
  { org_id: 'text', collection: 'text', position: 'integer', document: 'text' },
  ['org_id', 'collection', 'position'],
);
