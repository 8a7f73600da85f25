import type { Organization } from '@muster/platform/auth';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { MusterError } from '../errors.js';
import { type JobRow, jobOf } from '../repository/job-row.js';
import type { Job } from '../types.js';
import type { Asker } from './ports.js';

/** What somebody may do with a job of another (sheet §8.7). */
export const PERMISSIONS = [
  'ALL',
  'READ',
  'WRITE',
  'READ_WRITE',
  'EXECUTE',
  'READ_EXECUTE',
  'WRITE_EXECUTE',
  'NONE',
] as const;

export type JobPermission = (typeof PERMISSIONS)[number];

/** Stands for everybody in the organization. */
export const WORLD = 'world';

/** Those that are no NONE: the job is seen in lists. */
export const SEEING: readonly JobPermission[] = PERMISSIONS.filter((permission) => permission !== 'NONE');

export function isPermission(text: string): text is JobPermission {
  return (PERMISSIONS as readonly string[]).includes(text);
}

export const mayRead = (permission: JobPermission): boolean => permission === 'ALL' || permission.startsWith('READ');
export const mayWrite = (permission: JobPermission): boolean => permission === 'ALL' || permission.includes('WRITE');
export const mayExecute = (permission: JobPermission): boolean =>
  permission === 'ALL' || permission.includes('EXECUTE');

/** `own`: what its owner and administrators may. `share`: also those who may do everything with it. */
export type Need = 'read' | 'share' | 'own';

export interface KnownJob {
  readonly job: Job;
  readonly row: JobRow;
}

const MOST_ID = 64;
const NOT_STORABLE = /[\p{Cc}\p{Surrogate}]/u;

/**
 * A job that somebody asks for. @param action What they want to do, in a sentence.
 * @throws MusterError `job_not_found`, also for one that is hidden from them; `job_forbidden`
 */
export async function jobFor(
  read: Kysely<Schema>,
  { id: orgId, name: tenant }: Organization,
  asker: Asker,
  uuid: string,
  need: Need,
  action: string,
): Promise<KnownJob> {
  const missing = () => new MusterError('job_not_found', { job: uuid.slice(0, MOST_ID), tenant });
  if (uuid.length > MOST_ID || NOT_STORABLE.test(uuid)) throw missing();
  const row = await read.selectFrom('jobs').selectAll().where('uuid', '=', uuid).executeTakeFirst();
  if (row === undefined || row.org_id !== orgId) throw missing();
  if (asker.admin || row.owner === asker.user) return { job: jobOf(row), row };
  if (row.visible !== 1) throw missing();
  const granted = need === 'own' ? [] : await permissionsOf(read, uuid, [asker.user, WORLD]);
  const enough = granted.some(({ permission }) => (need === 'read' ? mayRead(permission) : permission === 'ALL'));
  if (!enough) throw new MusterError('job_forbidden', { user: asker.user, action, job: uuid });
  return { job: jobOf(row), row };
}

export interface Granted {
  readonly username: string;
  readonly permission: JobPermission;
}

/** @param of Only these users. */
export async function permissionsOf(
  read: Kysely<Schema>,
  uuid: string,
  of?: readonly string[],
): Promise<readonly Granted[]> {
  let query = read.selectFrom('job_permissions').select(['username', 'permission']).where('uuid', '=', uuid);
  if (of !== undefined) query = query.where('username', 'in', [...of]);
  const rows = await query.orderBy('username').execute();
  return rows.flatMap(({ username, permission }) => (isPermission(permission) ? [{ username, permission }] : []));
}
