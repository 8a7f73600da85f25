import { DESCRIPTIONS } from '../status.js';
import type { Job } from '../types.js';

/** What a webhook gets: the job, with the names of Agave's time where they differ (sheet §9.4). */
export function webhookBody(job: Job): Readonly<Record<string, unknown>> {
  return {
    id: job.uuid,
    uuid: job.uuid,
    name: job.name,
    tenantId: job.tenant,
    tenantQueue: job.queue,
    status: job.status,
    error_message: DESCRIPTIONS[job.status],
    accepted: timeText(job.accepted),
    created: timeText(job.created),
    endTime: timeText(job.ended),
    lastUpdated: timeText(job.lastUpdated),
    owner: job.owner,
    executionSystem: job.systemId,
    appId: job.appId,
    workPath: job.workPath,
    archive: job.archive,
    archiveOnAppError: job.archiveOnAppError,
    archivePath: job.archivePath,
    archiveSystem: job.archiveSystem,
    nodeCount: job.nodeCount,
    processorsPerNode: job.processorsPerNode,
    memoryPerNode: job.memoryMb / 1024,
    maxRunTime: hoursText(job.maxSeconds),
    localId: job.remoteJobId,
    batchQueue: job.remoteQueue,
    submitTime: timeText(job.remoteSubmitted),
    startTime: timeText(job.remoteStarted),
    remoteEnded: timeText(job.remoteEnded),
    remoteOutcome: job.remoteOutcome,
    submitRetries: job.submitRetries,
    remoteStatusChecks: job.statusChecks,
    failedStatusChecks: job.failedChecks,
    lastStatusCheck: timeText(job.lastCheck),
    blockedCount: job.blockedCount,
    visible: job.visible,
  };
}

export function timeText(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}

/** `HH:mm:ss`. */
export function hoursText(seconds: number): string {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}
