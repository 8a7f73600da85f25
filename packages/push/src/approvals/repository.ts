import { type Admitted, membersWritten } from '@muster/platform/auth';
import { guard, insert, type Schema, update, type Write } from '@muster/store';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { WRITERS } from '../writers.js';
import { APPROVAL_LIMITS } from './limits.js';
import type { ApprovalStatus } from './machine.js';
import type { Need } from './needs.js';
import './tables.js';

type Read = Kysely<Schema>;
type Trx = Transaction<Schema>;

export type ApprovalRow = Selectable<Schema['push_approvals']>;

/** Who agreed, and when. */
export interface Grant {
  readonly principalId: string;
  readonly name: string;
  readonly at: number;
}

export interface Granted {
  readonly needs: readonly Need[];
  readonly grants: readonly Grant[];
}

/** What ends one. */
export interface Decision {
  readonly status: Exclude<ApprovalStatus, 'pending'>;
  readonly by: { readonly principalId: string; readonly name: string } | null;
  readonly at: number;
  readonly reason: string | null;
  readonly jobId: string | null;
  /** Those that count, the last included. */
  readonly grants?: readonly Grant[];
}

export const addApproval = insert(
  'push_approvals',
  {
    id: 'text',
    org_id: 'text',
    status: 'text',
    kind: 'text',
    name: 'text',
    version: 'integer',
    command: 'text',
    target: 'text',
    parameters: 'text',
    order_text: 'text',
    hash: 'text',
    asker_id: 'text',
    asker_name: 'text',
    needs: 'text',
    grants: 'text',
    created_at: 'integer',
    expires_at: 'integer',
  },
  ['id'],
);

const pending = guard('push_approvals', { id: 'text', status: 'text', grants: 'text' }, ['id', 'status', 'grants']);
const count = update('push_approvals', { id: 'text', needs: 'text', grants: 'text' }, ['id']);

const decide = update(
  'push_approvals',
  {
    id: 'text',
    status: 'text',
    grants: 'text',
    order_text: 'text',
    decided_by_id: 'text',
    decided_by: 'text',
    decided_at: 'integer',
    reason: 'text',
    job_id: 'text',
  },
  ['id'],
);

/** Stored by the first who decides: of another one nothing is, nor of what it would start (`GuardFailed`). */
export function saveDecision(
  { id, grants }: Pick<ApprovalRow, 'grants' | 'id'>,
  { status, by, at, reason, jobId, grants: given }: Decision,
): Write[] {
  const decided = { decided_by_id: by?.principalId ?? null, decided_by: by?.name ?? null, decided_at: at };
  return [
    pending({ id, status: 'pending', grants }),
    decide({
      id,
      status,
      order_text: '',
      grants: given === undefined ? grants : JSON.stringify(given),
      ...decided,
      reason,
      job_id: jobId,
    }),
  ];
}

/** One more has agreed, and it waits for others. Stored only if nobody decided, or agreed, meanwhile. */
export function saveGrant({ id, grants }: Pick<ApprovalRow, 'grants' | 'id'>, after: Granted): Write[] {
  return [
    pending({ id, status: 'pending', grants }),
    count({ id, needs: JSON.stringify(after.needs), grants: JSON.stringify(after.grants) }),
  ];
}

export const needsIn = ({ needs }: Pick<ApprovalRow, 'needs'>) => JSON.parse(needs) as readonly Need[];
export const grantsIn = ({ grants }: Pick<ApprovalRow, 'grants'>) => JSON.parse(grants) as readonly Grant[];

/** Texts of those that wait and may name files. */
export function ordersWithFiles(read: Read): Promise<Pick<ApprovalRow, 'order_text' | 'org_id'>[]> {
  return read
    .selectFrom('push_approvals')
    .select(['org_id', 'order_text'])
    .where('status', '=', 'pending')
    .where('order_text', 'like', '%"sha256"%')
    .execute();
}

const ID = /^[0-9a-f]{24}$/;

export async function findApproval(read: Read, orgId: string, id: string): Promise<ApprovalRow | undefined> {
  // What cannot be an id is not looked up: the databases differ in what text they take.
  if (!ID.test(id)) return undefined;
  return read
    .selectFrom('push_approvals')
    .selectAll()
    .where('org_id', '=', orgId)
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function approvalsById(read: Read, orgId: string, ids: readonly string[]): Promise<ApprovalRow[]> {
  if (ids.length === 0) return [];
  return read.selectFrom('push_approvals').selectAll().where('org_id', '=', orgId).where('id', 'in', ids).execute();
}

/** The newest first. */
export function approvalsOf(read: Read, orgId: string, status: string | null): Promise<ApprovalRow[]> {
  let query = read.selectFrom('push_approvals').selectAll().where('org_id', '=', orgId);
  if (status !== null) query = query.where('status', '=', status);
  return query.orderBy('created_at', 'desc').orderBy('id').limit(APPROVAL_LIMITS.listed).execute();
}

export async function countPending(read: Read, orgId: string): Promise<number> {
  const { count } = await read
    .selectFrom('push_approvals')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('org_id', '=', orgId)
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Of all organizations, those whose time is over. */
export function overdue(read: Read, now: number): Promise<ApprovalRow[]> {
  return read
    .selectFrom('push_approvals')
    .selectAll()
    .where('status', '=', 'pending')
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(APPROVAL_LIMITS.rows)
    .execute();
}

/** Those that were decided before. */
export async function deleteDecided(trx: Trx, before: number): Promise<void> {
  const old = trx
    .selectFrom('push_approvals')
    .select('id')
    .where('status', '<>', 'pending')
    .where('created_at', '<', before)
    .limit(APPROVAL_LIMITS.rows);
  await trx.deleteFrom('push_approvals').where('id', 'in', old).execute();
}

/** Of an organization that was deleted, at most so many. True when none is left. */
export async function clearApprovals(trx: Trx, orgId: string, most: number): Promise<boolean> {
  const rows = await trx.selectFrom('push_approvals').select('id').where('org_id', '=', orgId).limit(most).execute();
  const ids = rows.map(({ id }) => id);
  if (ids.length > 0) await trx.deleteFrom('push_approvals').where('id', 'in', ids).execute();
  return ids.length < most;
}

/**
 * Those whom it names itself, and where one who asks for it names nobody, all who may start any push job. These are told, too, that there is
 * none of that id.
 */
export async function approversOf(read: Read, orgId: string, id: string): Promise<Admitted> {
  const row = await findApproval(read, orgId, id);
  const needs = row === undefined ? [] : needsIn(row);
  const open = row === undefined || needs.some(({ by }) => by.length === 0);
  return { ...membersWritten(needs.flatMap(({ by }) => by)), ...(open && { role: WRITERS }) };
}

/** Id of the principal who asks. */
export async function askerOf(read: Read, orgId: string, id: string): Promise<string | undefined> {
  return (await findApproval(read, orgId, id))?.asker_id;
}
