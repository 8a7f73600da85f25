import { type Schema, upsert, type Write } from '@muster/store';
import type { Kysely } from 'kysely';

export type Approval = 'none' | 'runbooks';

/** What an organization has set for its push jobs. */
export interface PushSettings {
  /** Of jobs that ask for the organization's: a percentage, such as `80%`; null: all nodes. */
  readonly quorum: string | null;
  /** Fewer than the server allows; null: as many. */
  readonly maxNodes: number | null;
  /** Of one user, at one time. */
  readonly maxRunning: number | null;
  /** Of one user, within a minute. */
  readonly maxStarts: number | null;
  /** What needs a second person, besides runbooks that ask for one themselves. */
  readonly approval: Approval;
}

const save = upsert(
  'push_settings',
  {
    org_id: 'text',
    quorum: 'text',
    max_nodes: 'integer',
    max_running: 'integer',
    max_starts: 'integer',
    approval: 'text',
  },
  ['org_id'],
);

export async function pushSettings(read: Kysely<Schema>, orgId: string): Promise<PushSettings> {
  const row = await read.selectFrom('push_settings').selectAll().where('org_id', '=', orgId).executeTakeFirst();
  return {
    quorum: row?.quorum ?? null,
    maxNodes: row?.max_nodes ?? null,
    maxRunning: row?.max_running ?? null,
    maxStarts: row?.max_starts ?? null,
    approval: row?.approval === 'runbooks' ? 'runbooks' : 'none',
  };
}

export function savePushSettings(orgId: string, settings: PushSettings): Write {
  const { quorum, maxNodes, maxRunning, maxStarts, approval } = settings;
  return save({ org_id: orgId, quorum, max_nodes: maxNodes, max_running: maxRunning, max_starts: maxStarts, approval });
}
