import type { Schema, Store } from '@muster/store';
import type { Kysely, Selectable } from 'kysely';
import type { Changes } from '../auth/changes.js';
import { organizationsById } from '../auth/organizations.js';
import type { Actor, Identity, Organization } from '../auth/types.js';
import { MusterError } from '../errors.js';
import { clearDeliveries, withdrawDeliveries } from '../outbound/deliveries.js';
import { readRetries } from '../outbound/retries.js';
import '../schema/tables.js';
import { NOTIFICATION_LIMITS } from './limits.js';
import { beginTrail, endTrail, resumeTrail } from './trail.js';
import type { Asked, Notification } from './types.js';

/** Topic of the hint that notifications were changed. */
export const NOTIFICATIONS_HINT = 'notifications';

/** What deliveries of a notification are about. */
export function deliverySubject(id: string): string {
  return `notification/${id}`;
}

export interface DirectoryDeps {
  readonly store: Pick<Store, 'read' | 'hints'>;
  readonly changes: Changes;
  /** Position of the newest event. */
  readonly last: () => number;
}

/** Notifications of organizations: made, looked at, changed, deleted. */
export class NotificationDirectory {
  readonly #deps: DirectoryDeps;

  constructor(deps: DirectoryDeps) {
    this.#deps = deps;
  }

  /** By name. */
  async list(org: Organization): Promise<readonly Notification[]> {
    const rows = this.#deps.store.read.selectFrom('notifications').selectAll().where('org_id', '=', org.id);
    return (await rows.orderBy('name').execute()).map((row) => notificationOf(org, row));
  }

  /** @throws MusterError `not_found` */
  async existing(org: Organization, name: string): Promise<Notification> {
    const rows = this.#deps.store.read.selectFrom('notifications').selectAll().where('org_id', '=', org.id);
    const row = await rows.where('name', '=', name).executeTakeFirst();
    if (row === undefined) throw new MusterError('not_found', { kind: 'notification', name });
    return notificationOf(org, row);
  }

  /** @throws MusterError `already_exists`, `too_busy` */
  async create(org: Organization, name: string, asked: Asked, owner: Identity, actor: Actor): Promise<Notification> {
    const { changes, last } = this.#deps;
    const now = changes.now;
    const { principalId, type, name: ownerName } = owner;
    const { afterSeal = 0, ...about } = asked;
    const made: Notification = {
      ...about,
      id: changes.newId(),
      org,
      name,
      owner: { principalId, type, name: ownerName },
      since: last(),
      skipped: 0,
      createdAt: now,
      updatedAt: now,
    };
    const { follows, selector, target } = asked;
    const detail = { ...(follows === 'audit' ? { follows, after_seal: afterSeal } : { selector }), to: hostOf(target) };
    await changes.apply({ orgId: org.id, actor, action: 'notification.create', target: name, detail }, async (trx) => {
      const held = await trx.selectFrom('notifications').select('name').where('org_id', '=', org.id).execute();
      if (held.some((one) => one.name === name)) {
        throw new MusterError('already_exists', { kind: 'notification', name });
      }
      const most = NOTIFICATION_LIMITS.perOrganization;
      if (held.length >= most) throw new MusterError('too_busy', { what: 'notifications', limit: most });
      await trx.insertInto('notifications').values(rowOf(made)).execute();
      if (follows === 'audit') await beginTrail(trx, made, afterSeal, now);
    });
    this.#changed();
    return made;
  }

  /**
   * From now on it follows with the rights of whoever changes it. What waits to be sent of events goes where it was to go.
   * @throws MusterError `not_found`
   */
  async change(before: Notification, asked: Partial<Asked>, owner: Identity, actor: Actor): Promise<Notification> {
    const { changes, last } = this.#deps;
    const { principalId, type, name: ownerName } = owner;
    const wakes = asked.enabled === true && !before.enabled;
    const { afterSeal, ...about } = asked;
    const after: Notification = {
      ...before,
      ...about,
      owner: { principalId, type, name: ownerName },
      // Events that happened while it was off stay untold.
      since: wakes ? last() : before.since,
      updatedAt: changes.now,
    };
    const { id, org, name } = before;
    const changed = Object.keys(asked).join(', ');
    await changes.apply(
      {
        orgId: org.id,
        actor,
        action: 'notification.change',
        target: name,
        detail: { changed, to: hostOf(after.target) },
      },
      async (trx) => {
        const { skipped: _, ...row } = rowOf(after);
        const { numUpdatedRows } = await trx
          .updateTable('notifications')
          .set(row)
          .where('id', '=', id)
          .executeTakeFirstOrThrow();
        if (numUpdatedRows === 0n) throw new MusterError('not_found', { kind: 'notification', name });
        if (after.follows === 'audit') await resumeTrail(trx, after, afterSeal, after.updatedAt);
      },
    );
    this.#changed();
    return after;
  }

  /** What waits is not sent any more. @throws MusterError `not_found` */
  async remove({ id, org, name }: Notification, actor: Actor): Promise<void> {
    await this.#deps.changes.apply(
      { orgId: org.id, actor, action: 'notification.delete', target: name },
      async (trx) => {
        const { numDeletedRows } = await trx.deleteFrom('notifications').where('id', '=', id).executeTakeFirstOrThrow();
        if (numDeletedRows === 0n) throw new MusterError('not_found', { kind: 'notification', name });
        await endTrail(trx, id);
        await withdrawDeliveries(trx, id);
        await clearDeliveries(trx, [deliverySubject(id)], NOTIFICATION_LIMITS.waiting);
      },
    );
    this.#changed();
  }

  #changed(): void {
    this.#deps.store.hints.send(NOTIFICATIONS_HINT, '');
  }
}

/** Those of all organizations that tell something of events, or of the audit. */
export async function enabledNotifications(
  read: Kysely<Schema>,
  follows: Notification['follows'] = 'events',
): Promise<readonly Notification[]> {
  const enabled = read.selectFrom('notifications').selectAll().where('enabled', '=', 1);
  const rows = await enabled.where('follows', '=', follows).orderBy('id').execute();
  if (rows.length === 0) return [];
  const organizations = await organizationsById(read);
  return rows.flatMap((row) => {
    const org = organizations.get(row.org_id);
    return org === undefined ? [] : [notificationOf(org, row)];
  });
}

type Row = Selectable<Schema['notifications']>;

function notificationOf(org: Organization, row: Row): Notification {
  return {
    id: row.id,
    org,
    name: row.name,
    follows: row.follows,
    selector: row.selector,
    target: row.target,
    policy: readRetries(JSON.parse(row.policy)),
    enabled: row.enabled === 1,
    owner: { principalId: row.owner_id, type: row.owner_type, name: row.owner_name },
    since: row.since,
    skipped: row.skipped,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function rowOf({
  id,
  org,
  name,
  follows,
  selector,
  target,
  policy,
  enabled,
  owner,
  since,
  skipped,
  ...one
}: Notification): Row {
  return {
    ...{
      id,
      org_id: org.id,
      name,
      follows,
      selector,
      target,
      policy: JSON.stringify(policy),
      enabled: enabled ? 1 : 0,
    },
    ...{ owner_id: owner.principalId, owner_type: owner.type, owner_name: owner.name, since, skipped },
    ...{ created_at: one.createdAt, updated_at: one.updatedAt },
  };
}

/** As the audit names a target: paths of webhooks are secrets. */
function hostOf(target: string): string {
  return URL.canParse(target) && /^https?:/i.test(target) ? new URL(target).host : target;
}
