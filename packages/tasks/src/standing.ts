import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { standingRows } from './repository/ready.js';
import { isEnded, type StatusName, statusName } from './status.js';

/** How a task stands, for the layers above. */
export interface TaskStanding {
  readonly status: StatusName;
  readonly ended: boolean;
  readonly reason: string | null;
}

/** By id, as stored; those that are gone are left out. */
export async function standingsOf(
  read: Kysely<Schema>,
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlyMap<string, TaskStanding>> {
  const rows = await standingRows(read, orgId, ids);
  return new Map(
    rows.map(({ id, status, reason }) => [id, { status: statusName(status), ended: isEnded(status), reason }]),
  );
}
