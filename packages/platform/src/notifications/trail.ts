import { timeOf } from '@muster/fabric';
import type { Schema } from '@muster/store';
import type { Kysely, Selectable, Transaction } from 'kysely';
import { type AuditSeals, lastSeal, type Sealed } from '../auth/audit-seals.js';
import { MusterError } from '../errors.js';
import { OUTBOUND_LIMITS } from '../outbound/limits.js';
import type { Sent } from '../outbound/webhook.js';
import '../schema/tables.js';
import { NOTIFICATION_LIMITS } from './limits.js';
import type { Notification } from './types.js';

/** How far the audit has come with somebody, as it is stored. */
export type StoredTrail = Selectable<Schema['audit_trails']>;

/** The same, with the last seal that there is. */
export interface TrailState extends StoredTrail {
  readonly sealed: number;
}

/** What is told of the audit. */
export const AUDIT_TYPE = 'muster.audit';

/**
 * @param seal The last that the receiver has, or does not want; 0: it gets all.
 * @throws MusterError `invalid_field`
 */
export async function beginTrail(
  trx: Transaction<Schema>,
  { id, org }: Pick<Notification, 'id' | 'org'>,
  seal: number,
  now: number,
): Promise<void> {
  await checkSealed(trx, org.id, seal);
  const fresh = { attempts: 0, next_attempt: now, response_code: null, detail: null, last_sent: null };
  await trx
    .insertInto('audit_trails')
    .values({ notification_id: id, org_id: org.id, seal, ...fresh })
    .execute();
}

/**
 * It is tried again at once.
 * @param seal Where it goes on; undefined: where it is.
 * @throws MusterError `invalid_field`
 */
export async function resumeTrail(
  trx: Transaction<Schema>,
  { id, org }: Pick<Notification, 'id' | 'org'>,
  seal: number | undefined,
  now: number,
): Promise<void> {
  if (seal !== undefined) await checkSealed(trx, org.id, seal);
  const rows = trx.updateTable('audit_trails').where('notification_id', '=', id);
  await rows.set({ attempts: 0, next_attempt: now, ...(seal !== undefined && { seal }) }).execute();
}

/** What a trail says to have arrived was there once: where it is gone, it was deleted. @throws MusterError `invalid_field` */
async function checkSealed(trx: Transaction<Schema>, orgId: string, seal: number): Promise<void> {
  const sealed = await lastSealed(trx, orgId);
  if (seal > sealed)
    throw new MusterError('invalid_field', { field: 'after_seal', reason: `the last seal that there is is ${sealed}` });
}

/** 0: none. */
async function lastSealed(read: Kysely<Schema>, orgId: string): Promise<number> {
  return (await lastSeal(read, orgId))?.number ?? 0;
}

export async function endTrail(trx: Transaction<Schema>, id: string): Promise<void> {
  await trx.deleteFrom('audit_trails').where('notification_id', '=', id).execute();
}

/** Of those of these notifications that follow the audit, by their ids. */
export async function trailsOf(
  read: Kysely<Schema>,
  notifications: readonly Pick<Notification, 'follows' | 'id' | 'org'>[],
): Promise<ReadonlyMap<string, TrailState>> {
  const following = notifications.filter(({ follows }) => follows === 'audit');
  const [first] = following;
  if (first === undefined) return new Map();
  const ids = following.map(({ id }) => id);
  const rows = await read.selectFrom('audit_trails').selectAll().where('notification_id', 'in', ids).execute();
  const sealed = await lastSealed(read, first.org.id);
  return new Map(rows.map((row) => [row.notification_id, { ...row, sealed }]));
}

/** The id of a webhook: the same at each attempt. */
export function trailId({ id }: Pick<Notification, 'id'>, seal: number): string {
  return `${id}.audit-${String(seal).padStart(16, '0')}`;
}

/** A seal with its entries, which stand there as they were sealed: letter by letter. */
export function trailBody(
  { org }: Pick<Notification, 'org'>,
  { seal, entries }: Sealed,
  { publicKey, keyLinks }: Pick<AuditSeals, 'publicKey' | 'keyLinks'>,
): string {
  const { at: timestamp } = seal;
  const about = { organization: org.name, organization_id: org.id, public_key: publicKey, server_keys: keyLinks, seal };
  const told = JSON.stringify({ type: AUDIT_TYPE, timestamp, data: about });
  return `${told.slice(0, -2)},"entries":[${entries.join(',')}]}}`;
}

/**
 * What is stored of an attempt to bring a seal. What did not arrive is sent again until it does: after 5 s, 10 s, 20 s, ten minutes at most.
 */
export function settledTrail(
  { seal, attempts }: Pick<StoredTrail, 'attempts' | 'seal'>,
  sent: number,
  { delivered, code, detail }: Sent,
  at: number,
  now: number,
): Omit<StoredTrail, 'notification_id' | 'org_id'> {
  const answered = { response_code: code, detail: detail.slice(0, OUTBOUND_LIMITS.detailLength), last_sent: at };
  if (delivered) return { ...answered, seal: sent, attempts: 0, next_attempt: now };
  const pause = Math.min(NOTIFICATION_LIMITS.trailPauseMs, FIRST_PAUSE_MS * 2 ** Math.min(attempts, 20));
  return { ...answered, seal, attempts: attempts + 1, next_attempt: now + pause };
}

const FIRST_PAUSE_MS = 5000;

export function trailView({ seal, sealed, attempts, response_code, detail, last_sent, next_attempt }: TrailState) {
  return {
    arrived: seal,
    sealed,
    attempts,
    response_code,
    detail,
    last_sent: last_sent === null ? null : timeOf(last_sent),
    next_attempt: attempts === 0 ? null : timeOf(next_attempt),
  };
}
