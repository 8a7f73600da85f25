import type { JobDefinition } from '../types.js';

/** Of a request: what a filter may ask about (sheet §4.5). Of one that is only tried out some may be missing. */
export type RoutedJob = Partial<
  Pick<
    JobDefinition,
    | 'accepted'
    | 'appId'
    | 'archive'
    | 'archiveOnAppError'
    | 'archiveSystem'
    | 'maxSeconds'
    | 'memoryMb'
    | 'name'
    | 'nodeCount'
    | 'owner'
    | 'processorsPerNode'
    | 'remoteQueue'
    | 'roles'
    | 'systemId'
    | 'tenant'
    | 'uuid'
  >
>;

/** What the filters of queues are asked about; what is null is unknown to them. */
export type RoutingAttributes = Readonly<Record<string, string | number | boolean | null>>;

/** @param now Time of day and day of the week are those of this moment, in UTC: Monday is 1, Sunday 7. */
export function routingAttributes(job: RoutedJob, now: number): RoutingAttributes {
  const at = new Date(job.accepted ?? now);
  return {
    uuid: job.uuid ?? null,
    name: job.name ?? null,
    owner: job.owner ?? null,
    tenantId: job.tenant ?? null,
    roles: job.roles ?? null,
    appId: job.appId ?? null,
    systemId: job.systemId ?? null,
    archive: job.archive ?? null,
    archiveOnAppError: job.archiveOnAppError ?? null,
    archiveSystem: job.archiveSystem ?? null,
    remoteQueue: job.remoteQueue ?? null,
    nodeCount: job.nodeCount ?? null,
    processorsPerNode: job.processorsPerNode ?? null,
    memoryPerNode: job.memoryMb === undefined ? null : job.memoryMb / 1024,
    maxHours: job.maxSeconds === undefined ? null : job.maxSeconds / 3600,
    accepted: at.toISOString(),
    hour: at.getUTCHours(),
    dayOfWeek: at.getUTCDay() === 0 ? 7 : at.getUTCDay(),
  };
}

/** All that a filter may ask about. */
export const ROUTING_ATTRIBUTES: readonly string[] = Object.keys(routingAttributes({}, 0));
