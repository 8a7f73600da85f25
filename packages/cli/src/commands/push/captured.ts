import type { Job } from '../../api.js';
import type { StreamName } from '../../output.js';
import { printable, printableLines } from '../../printable.js';
import type { Call } from '../../shell.js';
import { storedOutput } from './output-stream.js';

/** Enough for a screenful of nodes; more is read with `push output`. */
const MOST_NODES = 20;
const MOST_BYTES = 16 * 1024;

/** Captured output of one stream, cut for a person to read. */
export async function capturedText(
  call: Call<object>,
  id: string,
  node: string,
  stream: StreamName,
): Promise<{ readonly text: string; readonly cut: boolean } | null> {
  const chunks: Uint8Array[] = [];
  let kept = 0;
  let total = 0;
  const info = await storedOutput(call, id)(node, stream, {
    onData: (data) => {
      total += data.length;
      if (kept < MOST_BYTES) chunks.push(data.subarray(0, MOST_BYTES - kept));
      kept = Math.min(total, MOST_BYTES);
    },
  });
  if (info === null) return null;
  return {
    text: Buffer.concat(chunks).toString('utf8'),
    cut: total > MOST_BYTES || info.dropped > 0 || info.missing !== null,
  };
}

/** Output of the nodes that ran the command, node by node. */
export async function showCaptured(call: Call<object>, job: Job): Promise<void> {
  if (call.out.json) return;
  const ran = [...(job.nodes?.succeeded ?? []), ...(job.nodes?.failed ?? [])].sort();
  for (const node of ran.slice(0, MOST_NODES)) {
    for (const stream of ['stdout', 'stderr'] as const) {
      const output = await capturedText(call, job.id, node, stream);
      if (output === null || output.text === '') continue;
      call.out.line();
      call.out.line(call.out.paint(`==> ${printable(node)}${stream === 'stderr' ? ' (stderr)' : ''} <==`, 'bold'));
      call.out.line(printableLines(output.text.trimEnd()));
      if (output.cut) call.out.line(`… cut; all of it: muster push output ${job.id} --node ${node}`);
    }
  }
  if (ran.length > MOST_NODES)
    call.out.line(`\n… and ${ran.length - MOST_NODES} nodes more: muster push output ${job.id}`);
}
