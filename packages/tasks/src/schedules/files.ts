import type { HeldFile } from '@muster/push';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import './tables.js';
import type { Work } from './types.js';

/** What push jobs of schedules will take to their nodes. */
export async function filesOfSchedules(read: Kysely<Schema>): Promise<readonly HeldFile[]> {
  const rows = await read
    .selectFrom('schedules')
    .select(['org_id', 'work'])
    .where('kind', '=', 'push')
    .where('work', 'like', '%"sha256"%')
    .execute();
  return rows.flatMap(({ org_id: orgId, work }) =>
    hashesIn(JSON.parse(work) as Work).map((sha256) => ({ orgId, sha256 })),
  );
}

interface Named {
  readonly sha256: string;
}

function hashesIn(work: Work): readonly string[] {
  if (work.kind === 'task') return [];
  const { script, uploads = [] } = work.job as { readonly script?: Named; readonly uploads?: readonly Named[] };
  return [...(script === undefined ? [] : [script]), ...uploads].map(({ sha256 }) => sha256);
}
