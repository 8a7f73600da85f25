import type { Job } from '../api.js';
import type { Client } from '../client.js';
import { capturedText } from '../commands/push/captured.js';
import { jobNodes, reasonText } from '../commands/push/job-nodes.js';
import { watchJob } from '../commands/push/watching.js';
import type { Call } from '../shell.js';
import { summaryLines } from '../summary.js';
import { joinWords } from '../words.js';

export interface DemoJob {
  readonly title: string;
  /** As typed after `muster push start`. */
  readonly shown: string;
  readonly words: readonly string[];
  readonly body: Readonly<Record<string, unknown>>;
}

/** Runs one job and shows what became of it: progress while it runs, then a table of nodes, status and output. */
export async function showJob(call: Call<object>, client: Client, job: DemoJob): Promise<Job> {
  const { out } = call;
  out.line();
  out.line(out.paint(job.title, 'bold'));
  out.line(out.paint(`$ muster push start ${job.shown}`, 'dim'));
  const body = { command: joinWords(job.words), capture_output: true, ...job.body };
  const { id } = await client.post<{ id: string }>(client.inOrg('pushy', 'jobs'), body);
  out.line(`Starting job id ${id}`);
  const watched = await watchJob(call, id);
  if (watched.kind === 'left') throw new Interrupted(watched.exit);
  const nodes = await jobNodes(call, id);
  const rows = await Promise.all(
    nodes.map(async (node) => [
      node.node_name,
      node.status,
      reasonText(node),
      await firstLine(call, id, node.node_name),
    ]),
  );
  out.table(['Node name', 'Status', 'Reason', 'Output'], rows, 1);
  out.line(`Job ${out.status(watched.job.status)}`);
  for (const line of summaryLines(nodes)) out.line(`  ${line}`);
  return watched.job;
}

/** Ctrl-C during the demo: stop everything, quietly. */
export class Interrupted extends Error {
  readonly exit: number;

  constructor(exit: number) {
    super('interrupted');
    this.exit = exit;
  }
}

async function firstLine(call: Call<object>, id: string, node: string): Promise<string> {
  for (const stream of ['stdout', 'stderr'] as const) {
    const output = await capturedText(call, id, node, stream);
    const [line = ''] = (output?.text ?? '').trimEnd().split('\n');
    if (line !== '') return line;
  }
  return '';
}
