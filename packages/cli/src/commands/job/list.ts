import type { Command } from 'commander';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { readAll } from '../envelope.js';
import { count } from '../queue/settings.js';
import { tellTable } from '../resource.js';
import { type JobSummary, jobPath } from './api.js';

interface ListFlags {
  readonly limit: number;
  readonly hidden?: boolean;
}

export function addList(job: Command, shell: Shell): void {
  const command = clientCommand(job, {
    usage: 'list [selector]',
    summary:
      'jobs that a selector finds, the last changed first; it speaks of status, owner, app, system, name and more',
    examples: [
      'muster job list',
      "muster job list 'status:BLOCKED AND owner:jdoe'",
      "muster job list 'appId:blast* AND nodeCount > 4' --limit 200 --json",
    ],
  });
  command
    .option('--limit <n>', 'at most this many', count('--limit', 1), 20)
    .option('--hidden', 'those that were hidden');
  does<ListFlags>(command, shell, async (call) => {
    const jobs = await found(call);
    call.out.document(jobs);
    tellTable(
      call,
      jobs,
      {
        Job: ({ id }) => id,
        Status: ({ status }) => status,
        App: ({ appId }) => appId,
        System: ({ systemId }) => systemId,
        Owner: ({ owner }) => owner,
        Created: ({ created }) => timeText(created),
        Ended: ({ ended }) => timeText(ended),
        Name: ({ name }) => name,
      },
      'Status',
      { fit: true },
    );
    if (jobs.length === 0) call.out.note('no job is like that');
  });
}

function found({ client, args: [where], options }: Call<ListFlags>): Promise<readonly JobSummary[]> {
  const visible = options.hidden === true ? { visible: false } : {};
  return readAll(client, jobPath(client), { where, ...visible }, options.limit);
}
