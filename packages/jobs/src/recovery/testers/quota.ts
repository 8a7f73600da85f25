import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { ACTIVE_STATUSES } from '../../status.js';
import type { Parameters } from '../policies/index.js';
import { blocked, clear, hopeless } from './answers.js';
import { type FoundSystem, findSystem } from './system-row.js';
import type { Tester } from './types.js';

/**
 * Fewer jobs run on the system `systemId` than may: of all, of its user `owner`, in its queue `queue`, of the user in the queue,
 * as far as these are given. By the limits as they are now: who raises one need not wait. As many go on as there is room for.
 */
export const quota: Tester = {
  types: ['DEFAULT_QUOTA_TESTER'],
  async test({ orgId, parameters }, { read }) {
    const { systemId = '' } = parameters;
    const system = await findSystem(read, orgId, systemId);
    if (system === null) return hopeless(`there is no system ${systemId} any more`);
    const limits = limitsOf(system, parameters);
    if (limits.length === 0) return clear(`the system ${systemId} has no such limit any more`);
    let free = Number.POSITIVE_INFINITY;
    for (const { limit, owner, queue } of limits) {
      free = Math.min(free, limit - (await count(read, orgId, systemId, owner, queue)));
    }
    const says = `${Math.max(0, free)} more jobs may run on ${systemId}`;
    return free > 0 ? clear(says, free) : blocked(says);
  },
};

interface Limit {
  readonly limit: number;
  readonly owner: string | undefined;
  readonly queue: string | undefined;
}

/** 0 and less: no limit. */
function limitsOf({ maxJobs, maxJobsPerUser, queues }: FoundSystem, { owner, queue }: Parameters): readonly Limit[] {
  const batch = queues.find(({ name }) => name === queue);
  const limits = [
    { limit: maxJobs ?? 0, owner: undefined, queue: undefined },
    { limit: owner === undefined ? 0 : (maxJobsPerUser ?? 0), owner, queue: undefined },
    { limit: batch?.maxJobs ?? 0, owner: undefined, queue },
    { limit: owner === undefined ? 0 : (batch?.maxUserJobs ?? 0), owner, queue },
  ];
  return limits.filter(({ limit }) => limit > 0);
}

async function count(
  read: Kysely<Schema>,
  orgId: string,
  system: string,
  owner: string | undefined,
  queue: string | undefined,
): Promise<number> {
  let query = read
    .selectFrom('jobs')
    .select(({ fn }) => fn.countAll().as('jobs'))
    .where('org_id', '=', orgId)
    .where('system_id', '=', system)
    // PENDING ones count, though not for the worker: those that were just released are to use up what is free (sheet §6.9).
    .where('status', 'in', ACTIVE_STATUSES);
  if (owner !== undefined) query = query.where('owner', '=', owner);
  if (queue !== undefined) query = query.where('remote_queue', '=', queue);
  const { jobs } = await query.executeTakeFirstOrThrow();
  return Number(jobs);
}
