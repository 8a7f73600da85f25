import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import '../../repository/tables.js';
import type { System } from '../../systems/types.js';

export interface FoundSystem extends Pick<System, 'maxJobs' | 'maxJobsPerUser' | 'queues'> {
  readonly enabled: boolean;
}

/** What is stored of a system now; null: there is none of this name. */
export async function findSystem(read: Kysely<Schema>, orgId: string, name: string): Promise<FoundSystem | null> {
  const row = await read
    .selectFrom('job_systems')
    .select(['enabled', 'definition'])
    .where('org_id', '=', orgId)
    .where('name', '=', name)
    .executeTakeFirst();
  if (row === undefined) return null;
  const { maxJobs, maxJobsPerUser, queues } = JSON.parse(row.definition) as Partial<System>;
  return {
    enabled: row.enabled === 1,
    queues: queues ?? [],
    ...(maxJobs !== undefined && { maxJobs }),
    ...(maxJobsPerUser !== undefined && { maxJobsPerUser }),
  };
}
