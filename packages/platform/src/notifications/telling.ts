import type { Clock } from '@muster/base';
import type { Store, Write } from '@muster/store';
import type { Acted, Chosen } from '../events/watch.js';
import { DELIVERIES_HINT } from '../outbound/deliveries.js';
import '../schema/tables.js';
import { NOTIFICATION_LIMITS } from './limits.js';
import { tellEvent } from './told.js';
import type { Notification } from './types.js';

export interface TellingDeps {
  readonly store: Pick<Store, 'transact' | 'hints'>;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * Stores that events are to be told, in one transaction with how far the log was read, so that each is told once, whenever a process
 * ends. Of a notification for which too many wait already the rest is counted.
 */
export async function storeTold(
  { store, clock }: TellingDeps,
  chosen: readonly Chosen<Notification>[],
  stamp: readonly Write[],
): Promise<Acted> {
  const now = clock.now();
  const ids = [...new Set(chosen.map(({ chooser }) => chooser.id))];
  const acted = await store.transact(async (trx, write): Promise<Acted> => {
    const rows = await trx.selectFrom('notifications').select(['id', 'updated_at']).where('id', 'in', ids).execute();
    const changed = new Map(rows.map(({ id, updated_at }) => [id, updated_at]));
    if (chosen.some(({ chooser: { id, updatedAt } }) => changed.get(id) !== updatedAt)) return 'stale';
    const waiting = await trx
      .selectFrom('deliveries')
      .select((row) => ['subscription', row.fn.countAll<number>().as('count')])
      .where('subscription', 'in', ids)
      .where('outcome', '=', 'waiting')
      .groupBy('subscription')
      .execute();
    const room = new Map<string, number>(ids.map((id) => [id, NOTIFICATION_LIMITS.waiting]));
    for (const { subscription, count } of waiting) room.set(subscription, NOTIFICATION_LIMITS.waiting - Number(count));
    const skipped = new Map<string, number>();
    const deliveries: Write[] = [];
    for (const { chooser, type, event } of chosen) {
      const left = room.get(chooser.id) ?? 0;
      if (left > 0) {
        room.set(chooser.id, left - 1);
        deliveries.push(tellEvent(chooser, type, event, now));
      } else skipped.set(chooser.id, (skipped.get(chooser.id) ?? 0) + 1);
    }
    for (const [id, count] of skipped) {
      const rows = trx.updateTable('notifications').where('id', '=', id);
      await rows.set((row) => ({ skipped: row('skipped', '+', count) })).execute();
    }
    write([...stamp, ...deliveries]);
    return 'stored';
  });
  if (acted === 'stored') store.hints.send(DELIVERIES_HINT, '');
  return acted;
}
