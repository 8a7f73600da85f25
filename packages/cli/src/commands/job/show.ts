import type { Command } from 'commander';
import { printable } from '../../printable.js';
import type { Call, Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { readAll } from '../envelope.js';
import { addList as addListOf, addShow as addShowOf } from '../resource.js';
import { type HistoryEntry, type Job, jobPath } from './api.js';
import { readJob, saysMore } from './waiting.js';

export function addShow(job: Command, shell: Shell): void {
  addShowOf<Job>(job, shell, {
    usage: 'show <job>',
    summary: 'a job, and how it stands',
    examples: ['muster job show JOB', 'muster job show JOB --json'],
    read: readJob,
    tell,
  });
}

export function addHistory(job: Command, shell: Shell): void {
  addListOf<HistoryEntry>(job, shell, {
    usage: 'history <job>',
    summary: 'what happened to a job, oldest first',
    examples: ['muster job history JOB'],
    read: ({ client, args: [id = ''] }) => readAll(client, jobPath(client, id, 'history')),
    columns: {
      When: ({ created }) => timeText(created),
      Status: ({ status }) => status,
      By: ({ createdBy }) => createdBy,
      What: ({ description }) => description,
    },
    status: 'Status',
    look: { fit: true },
  });
}

export function addWhy(job: Command, shell: Shell): void {
  addShowOf<{ readonly why: readonly string[] }>(job, shell, {
    usage: 'why <job>',
    summary: 'what a job is doing, or what it waits for, until when, and with how many others',
    examples: ['muster job why JOB'],
    read: ({ client }, id) => client.get(client.inOrg('job-recovery', 'jobs', id, 'why')),
    tell: ({ out }, { why }) => {
      for (const sentence of why) out.line(printable(sentence));
    },
  });
}

export function tell({ out }: Call<object>, job: Job): void {
  const given = (title: string, value: string | null): [string, string][] => (value === null ? [] : [[title, value]]);
  const time = (title: string, value: string | null) => given(title, value === null ? null : timeText(value));
  const { nodeCount, processorsPerNode, memoryPerNode, maxHours } = job;
  const outputs = job.archive ? `${job.archiveSystem ?? '-'}:${job.archivePath ?? ''}` : null;
  out.fields([
    ['Job', job.id],
    ['Name', job.name],
    ['Status', job.status],
    ...given('Message', saysMore(job.lastStatusMessage) ? job.lastStatusMessage : null),
    ['App', job.appId],
    ...given('System', job.systemId),
    ...given('Batch queue', job.remoteQueue),
    ['Queue', job.tenantQueue],
    ['Owner', job.owner],
    [
      'Resources',
      `${nodeCount} x ${processorsPerNode} processors, ${memoryPerNode} GB each, at most ${hoursText(maxHours)}`,
    ],
    ...Object.entries(job.inputs).map(([id, value]): [string, string] => [`Input ${id}`, textOf(value)]),
    ...Object.entries(job.parameters).map(([id, value]): [string, string] => [`Parameter ${id}`, textOf(value)]),
    ...given('Works in', job.workPath),
    ...given('Archive', outputs),
    ...given('Remote id', job.remoteJobId),
    ...given('Outcome', job.remoteOutcome),
    ...given('Blocked', job.blockedCount === 0 ? null : `${job.blockedCount} times`),
    ['Accepted', timeText(job.accepted)],
    ...time('Began', job.created),
    ...time('Ran from', job.remoteStarted),
    ...time('Ended', job.ended),
    ...given('Hidden', job.visible ? null : 'yes'),
  ]);
}

/** `HH:mm:ss`, as limits are given. */
function hoursText(hours: number): string {
  const seconds = Math.round(hours * 3600);
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  return parts.map((part) => String(part).padStart(2, '0')).join(':');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
