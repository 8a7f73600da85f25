import type { Command } from 'commander';
import { printable } from '../../printable.js';
import { type Call, clientCommand, does, type Shell } from '../../shell.js';
import { nodeLine, summaryLines, timeText } from '../../summary.js';
import { jobId, takesJob } from './job-id.js';
import { jobNode, jobNodes, nodeTable } from './job-nodes.js';
import { isHeld, statusText } from './outcome.js';
import { readJob } from './read-job.js';

interface StatusOptions {
  readonly summary?: boolean;
  readonly node?: string;
}

export function addStatus(push: Command, shell: Shell): void {
  const command = clientCommand(push, {
    usage: 'status <job>',
    summary: 'how a job stands, node by node, in the aggregate, or for one node',
    examples: [
      'muster push status JOB',
      'muster push status 3f2a',
      'muster push status JOB --summary',
      'muster push status JOB --node web1',
    ],
  });
  takesJob(command);
  command.option('--summary', 'counts of nodes').option('--node <name>', 'one node, in one line');
  does<StatusOptions>(command, shell, async (call) => {
    const id = await jobId(call, call.args[0] ?? '');
    if (call.options.node !== undefined) return oneNode(call, id, call.options.node);
    if (call.options.summary === true) return summary(call, id);
    return wholeJob(call, id);
  });
}

async function oneNode(call: Call<object>, id: string, name: string): Promise<void> {
  const node = await jobNode(call, id, name);
  call.out.document(node);
  call.out.line(nodeLine({ id }, node));
}

async function summary(call: Call<object>, id: string): Promise<void> {
  const nodes = await jobNodes(call, id);
  const lines = summaryLines(nodes);
  for (const line of lines) call.out.line(line);
  if (!call.out.json) return;
  const counts: Record<string, number> = {};
  for (const node of nodes) counts[node.status] = (counts[node.status] ?? 0) + 1;
  call.out.document({ id, counts, summary: lines });
}

async function wholeJob(call: Call<object>, id: string): Promise<void> {
  const [job, nodes] = await Promise.all([readJob(call, id), jobNodes(call, id)]);
  call.out.document({ ...job, job_nodes: nodes });
  if (call.out.json) return;
  const standing = job.aborting === true ? `${job.status}, aborting` : job.status;
  // Since when it is held is not known.
  const held = job.aborting !== true && isHeld(job) ? ', held' : '';
  const why = job.reason === undefined || job.reason === null ? '' : `  (${printable(job.reason)})`;
  call.out.line(`Job      ${job.id}`);
  call.out.line(`Command  ${printable(job.command)}`);
  call.out.line(`Status   ${statusText(call, job, standing)} since ${timeText(job.updated_at)}${held}${why}`);
  if (job.created_by !== undefined) {
    call.out.line(`Started  ${timeText(job.created_at)} by ${printable(job.created_by)}`);
  }
  call.out.line();
  nodeTable(call, nodes);
}
