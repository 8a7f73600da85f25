import { constants } from 'node:os';
import type { Job } from '../api.js';
import { capturedText } from '../commands/push/captured.js';
import { jobNodes, reasonText } from '../commands/push/job-nodes.js';
import { watchJob } from '../commands/push/watching.js';
import { nodeStatusWord } from '../node-words.js';
import type { Call } from '../shell.js';
import { summaryLines } from '../summary.js';

export interface DemoJob {
  readonly title: string;
  /** As typed after `muster push start`. */
  readonly shown: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A signal during the demo: everything is stopped and removed. */
export class Interrupted extends Error {
  /** 128 plus the signal's number, as shells report it. */
  readonly exit: number;

  constructor(signal: NodeJS.Signals) {
    super('interrupted');
    this.exit = 128 + constants.signals[signal];
  }
}

/** Runs one job and shows what became of it: progress while it runs, then a table of nodes, status and output. */
export async function showJob(call: Call<object>, job: DemoJob): Promise<Job> {
  const { client, out } = call;
  out.line();
  out.line(out.paint(job.title, 'bold'));
  out.line(out.paint(`$ muster push start ${job.shown}`, 'dim'));
  const body = { ...job.body, capture_output: true };
  const { id } = await client.post<{ id: string }>(client.inOrg('pushy', 'jobs'), body);
  out.line(`Starting job id ${id}`);
  const watched = await watchJob(call, id);
  if (watched.kind === 'left') throw new Interrupted('SIGINT');
  const nodes = await jobNodes(call, id);
  const row = async (node: (typeof nodes)[number]) => [
    node.node_name,
    nodeStatusWord(node.status),
    reasonText(node),
    await firstLine(call, id, node.node_name),
  ];
  out.table(['Node name', 'Status', 'Reason', 'Output'], await Promise.all(nodes.map(row)), 1);
  out.line(`Job ${out.status(watched.job.status)}`);
  for (const line of summaryLines(nodes)) out.line(`  ${line}`);
  return watched.job;
}

async function firstLine(call: Call<object>, id: string, node: string): Promise<string> {
  for (const stream of ['stdout', 'stderr'] as const) {
    const output = await capturedText(call, id, node, stream);
    const [line = ''] = (output?.text ?? '').trimEnd().split('\n');
    if (line !== '') return line;
  }
  return '';
}
