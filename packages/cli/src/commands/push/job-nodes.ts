import { absence, isBusy } from '../../absent.js';
import type { Job, JobNode } from '../../api.js';
import { MusterError } from '../../errors.js';
import { PAGE_SIZE } from '../../limits.js';
import { nodeStatusWord } from '../../node-words.js';
import type { Call } from '../../shell.js';
import { summaryLines, timeText } from '../../summary.js';
import { QUORUM_OF_RUNBOOK } from '../runbook/quorum.js';
import { statusText } from './outcome.js';

const MOST_PROBLEMS_SHOWN = 20;

/** All nodes of a job with their reasons, page by page. */
export async function jobNodes(call: Call<object>, id: string): Promise<JobNode[]> {
  const path = call.client.inOrg('pushy', 'jobs', id, 'nodes');
  const nodes: JobNode[] = [];
  for (let after: string | undefined; ; ) {
    const page: JobNode[] = await call.client.get(path, { limit: PAGE_SIZE, after });
    nodes.push(...page);
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_SIZE) return nodes;
    after = last.node_name;
  }
}

export async function jobNode(call: Call<object>, id: string, name: string): Promise<JobNode> {
  const found = (await jobNodes(call, id)).find((node) => node.node_name === name);
  if (found === undefined) throw new MusterError('not_found', { kind: 'node of this job', name });
  return found;
}

/** The table of the seed (Push Jobs §1.1), with the reason. */
export function nodeTable(call: Call<object>, nodes: readonly JobNode[]): void {
  call.out.table(
    ['Node name', 'Status', 'Reason', 'Last updated'],
    nodes.map((node) => [node.node_name, nodeStatusWord(node.status), reasonText(node), timeText(node.updated_at)]),
    1,
  );
}

/** Why a node is in its status: what was said, else how the command ended. */
export function reasonText(node: JobNode): string {
  if (node.reason !== null && node.reason !== '') return node.reason;
  if (node.signal !== null) return `signal ${node.signal}`;
  if (node.exit_code !== null && node.exit_code !== 0) return `exit ${node.exit_code}`;
  return '';
}

/**
 * The job timed out, or the node went down, before its turn came: nothing ran. A start that was sent may have begun the command, and has another
 * reason.
 */
export function hadNoTurn({ status, started_at, reason }: JobNode): boolean {
  if (started_at !== null || reason === null) return false;
  if (status === 'timed_out') return reason.startsWith('not started');
  return status === 'crashed' && reason.endsWith('before it was started');
}

/** What is missing depends on groups that whoever started the job may not be allowed to see. */
const PERMISSION_DENIED =
  'permission denied: who started the job needs a grant on a group that the node is in (muster node-group list), or push:write (push_job_writers) where none of its groups has grants';

/** For whom that many nodes are enough. */
export function needsFewer(ready: number): string {
  return `--quorum ${ready}, or --available, needs fewer`;
}

/** For whom nodes that were busy were too many to do without. */
export const WAITS_FOR_BUSY = '--when-busy wait waits until those that are busy are free';

/** After watching: how the job ended, in the aggregate, and the nodes that need attention, each once. */
export async function tellEnd(call: Call<object>, job: Job): Promise<void> {
  if (call.out.json) return;
  const nodes = await jobNodes(call, job.id);
  const why = job.reason === undefined || job.reason === null ? '' : `: ${job.reason}`;
  call.out.line(`Job ${job.id} ${statusText(call, job)}${why}`);
  for (const line of summaryLines(nodes)) call.out.line(line);
  const { lines, told, more } = absence(nodes);
  if (lines.length > 0) call.out.line();
  for (const line of lines) call.out.line(line);
  if (more) call.out.line(`Each of them: muster push status ${job.id}`);
  const untold = nodes.filter(({ status, node_name }) => status !== 'succeeded' && !told.has(node_name));
  if (untold.length > 0) {
    call.out.line();
    nodeTable(call, untold.slice(0, MOST_PROBLEMS_SHOWN));
  }
  if (untold.length > MOST_PROBLEMS_SHOWN) {
    call.out.line(`… and ${untold.length - MOST_PROBLEMS_SHOWN} more: muster push status ${job.id}`);
  }
  if (job.status === 'quorum_failed') tellWhatIsEnough(call, job, nodes);
  if (nodes.some(({ reason }) => reason === 'permission denied')) {
    call.out.note(PERMISSION_DENIED);
  }
}

/** With what the job would have had its quorum. */
function tellWhatIsEnough({ out }: Call<object>, { runbook, when_busy }: Job, nodes: readonly JobNode[]): void {
  const busy = nodes.some(({ reason }) => isBusy(reason ?? ''));
  if (busy && !runbook && when_busy !== 'wait') out.note(WAITS_FOR_BUSY);
  const ready = nodes.filter(({ status }) => status === 'was_ready').length;
  if (ready > 0) out.note(runbook ? QUORUM_OF_RUNBOOK : needsFewer(ready));
}
