import type { Static } from 'typebox';
import type { Job } from '../types.js';
import type { HistoryAnswer, JobAnswer, JobSummary, StatusAnswer } from './schemas.js';

/** Jobs as clients see them (sheet §1.1, §1.4). */

/** Where a job's things are, for whoever asked: absolute, and good with the same login. */
export interface Links {
  /** Such as `https://host/jobs/v2` or `https://host/organizations/acme/jobs/v2`. */
  readonly jobs: string;
  /** The same without `/jobs/v2`. */
  readonly root: string;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const time = (ms: number | null): string | null => (ms === null ? null : iso(ms));
const link = (href: string) => ({ href });
const segment = encodeURIComponent;

export function jobView(job: Job, links: Links): Static<typeof JobAnswer> {
  return {
    id: job.uuid,
    name: job.name,
    tenantId: job.tenant,
    tenantQueue: job.queue,
    status: job.status,
    lastStatusMessage: job.lastMessage,
    accepted: iso(job.accepted),
    created: time(job.created),
    ended: time(job.ended),
    lastUpdated: iso(job.lastUpdated),
    owner: job.owner,
    roles: job.roles,
    systemId: job.systemId,
    appId: job.appId,
    appUuid: job.appUuid,
    workPath: job.workPath,
    archive: job.archive,
    archiveOnAppError: job.archiveOnAppError,
    archivePath: job.archivePath,
    archiveSystem: job.archiveSystem,
    nodeCount: job.nodeCount,
    processorsPerNode: job.processorsPerNode,
    memoryPerNode: job.memoryMb / 1024,
    maxHours: job.maxSeconds / 3600,
    inputs: job.inputs,
    parameters: job.parameters,
    remoteJobId: job.remoteJobId,
    schedulerJobId: job.schedulerJobId,
    remoteQueue: job.remoteQueue,
    remoteSubmitted: time(job.remoteSubmitted),
    remoteStarted: time(job.remoteStarted),
    remoteEnded: time(job.remoteEnded),
    remoteOutcome: job.remoteOutcome,
    exitCode: job.exitCode,
    condition: job.condition,
    submitRetries: job.submitRetries,
    remoteStatusChecks: job.statusChecks,
    failedStatusChecks: job.failedChecks,
    lastStatusCheck: time(job.lastCheck),
    blockedCount: job.blockedCount,
    visible: job.visible,
    _links: jobLinks(job, links),
  };
}

function jobLinks(job: Job, links: Links) {
  const self = selfOf(job, links);
  const { root } = links;
  return {
    self: link(self),
    app: link(`${root}/apps/v2/${segment(job.appId)}`),
    executionSystem: link(`${root}/systems/v2/${segment(job.systemId)}`),
    ...(job.archiveSystem !== null && { archiveSystem: link(`${root}/systems/v2/${segment(job.archiveSystem)}`) }),
    archiveData: link(`${self}/outputs/listings`),
    permissions: link(`${self}/pems`),
    history: link(`${self}/history`),
    notifications: link(`${self}/notifications`),
  };
}

/** An entry of a list (sheet §8.5). */
export function jobSummary(job: Job, links: Links): Static<typeof JobSummary> {
  const self = selfOf(job, links);
  return {
    id: job.uuid,
    name: job.name,
    owner: job.owner,
    systemId: job.systemId,
    appId: job.appId,
    created: time(job.created),
    status: job.status,
    remoteStarted: time(job.remoteStarted),
    ended: time(job.ended),
    _links: { self: link(self), archiveData: link(`${self}/outputs/listings`) },
  };
}

export function statusView(job: Job, links: Links): Static<typeof StatusAnswer> {
  return { id: job.uuid, status: job.status, _links: { self: link(selfOf(job, links)) } };
}

export function selfOf({ uuid }: Pick<Job, 'uuid'>, { jobs }: Links): string {
  return `${jobs}/${segment(uuid)}`;
}

export interface HistoryEntry {
  /** Unique in the history of its job; later ones are greater. */
  readonly id: string;
  readonly event: string;
  readonly status: string;
  readonly at: number;
  readonly by: string;
  readonly description: string;
}

/** An event that is no status is shown by its own name. */
export function historyView({ id, event, at, by, description }: HistoryEntry): Static<typeof HistoryAnswer>[number] {
  return { id, status: event, created: iso(at), createdBy: by, description };
}
