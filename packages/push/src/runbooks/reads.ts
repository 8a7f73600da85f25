import type { Schema } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import { isRunbookName } from './names.js';
import './tables.js';

type Read = Kysely<Schema>;

export type RunbookRow = Selectable<Schema['push_runbooks']>;
export type VersionRow = Selectable<Schema['push_runbook_versions']>;

export async function findRunbook(read: Read, orgId: string, name: string): Promise<RunbookRow | undefined> {
  // What cannot be a name is not looked up: the databases differ in what text they take.
  if (!isRunbookName(name)) return undefined;
  return read
    .selectFrom('push_runbooks')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('name', '=', name)
    .executeTakeFirst();
}

export function findRunbookById(read: Read, orgId: string, id: string): Promise<RunbookRow | undefined> {
  return read
    .selectFrom('push_runbooks')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

/** By name. */
export function allRunbooks(read: Read, orgId: string): Promise<RunbookRow[]> {
  return read.selectFrom('push_runbooks').selectAll().where('org_id', '=', orgId).orderBy('name').execute();
}

export function findVersion(read: Read, id: string, version: number): Promise<VersionRow | undefined> {
  return read
    .selectFrom('push_runbook_versions')
    .selectAll()
    .where('runbook_id', '=', id)
    .where('version', '=', version)
    .executeTakeFirst();
}

/** The newest first. */
export function versionsOf(read: Read, id: string): Promise<Omit<VersionRow, 'definition' | 'runbook_id'>[]> {
  return read
    .selectFrom('push_runbook_versions')
    .select(['version', 'author_name', 'created_at'])
    .where('runbook_id', '=', id)
    .orderBy('version', 'desc')
    .execute();
}
