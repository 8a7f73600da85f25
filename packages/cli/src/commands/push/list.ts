import type { Command } from 'commander';
import type { Job } from '../../api.js';
import { duration } from '../../duration.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { timeText } from '../../summary.js';
import { shownId } from './job-id.js';
import { countsText, isHeld, outcomeColour } from './outcome.js';

interface ListOptions {
  readonly status?: string;
  readonly command?: string;
  readonly user?: string;
  readonly node?: string;
  readonly since?: number;
  readonly limit: number;
}

export function addList(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'list',
    summary: 'jobs, newest first, with how many nodes ended well',
    examples: [
      'muster push list',
      'muster push list --status running',
      'muster push list --node web1 --since 1d --limit 100',
    ],
  });
  command
    .option('--status <status>', 'only jobs with this status; held: those that wait for push continue')
    .option('--command <text>', 'only jobs that run exactly this')
    .option('--user <name>', 'only jobs this user started')
    .option('--node <name>', 'only jobs this node took part in')
    .option('--since <duration>', 'only jobs started within this time', duration('--since'))
    .option('--limit <n>', 'at most this many', Number, 20);
  does<ListOptions>(command, shell, async (call) => {
    const jobs = await call.client.get<Job[]>(call.client.inOrg('pushy', 'jobs'), filters(call));
    call.out.document(jobs);
    call.out.table(
      ['Job', 'Status', 'Nodes', 'User', 'Started', 'Command'],
      jobs.map((job) => [
        shownId(call, job.id),
        isHeld(job) ? 'held' : job.status,
        countsText(job.counts ?? {}),
        job.created_by,
        timeText(job.created_at),
        job.command,
      ]),
      1,
      { colours: jobs.map(outcomeColour), fit: true },
    );
  });
}

function filters(call: Call<ListOptions>) {
  const { status, command, user, node, since, limit } = call.options;
  return {
    status,
    command,
    requester: user,
    node,
    created_after: since === undefined ? undefined : new Date(call.world.now() - since * 1000).toISOString(),
    limit,
    detail: true,
  };
}
