import type { Job, JobNode, PushJobNodeStatus } from './api.js';
import { printable } from './printable.js';

/** The order in which a summary tells: what is wrong first, what went well last, as the seed does (Push Jobs §1.1). */
export const NODE_STATUSES: readonly PushJobNodeStatus[] = [
  'new',
  'ready',
  'was_ready',
  'nacked',
  'unavailable',
  'running',
  'aborted',
  'timed_out',
  'crashed',
  'failed',
  'succeeded',
];

/**
 * The job in the aggregate, in the seed's wording (Push Jobs §1.1):
 *
 *     1  node acknowledged, not started
 *     14 nodes started
 */
export function summaryLines(nodes: readonly Pick<JobNode, 'status' | 'reason'>[]): string[] {
  const counts = new Map<string, number>();
  for (const status of NODE_STATUSES) {
    const described = nodes.filter((node) => node.status === status).map((node) => standing(status, node.reason));
    for (const text of described.sort()) counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  const width = Math.max(0, ...[...counts.values()].map((count) => String(count).length));
  return [...counts].map(([text, count]) => `${String(count).padEnd(width)} ${count === 1 ? 'node' : 'nodes'} ${text}`);
}

/** What follows `node` or `nodes`. */
function standing(status: PushJobNodeStatus, reason: string | null): string {
  switch (status) {
    case 'new':
      return 'not answered yet';
    case 'ready':
    case 'was_ready':
      return 'acknowledged, not started';
    case 'nacked':
    case 'unavailable': {
      const brief = briefReason(status, reason);
      // The seed says so of a node that is busy, though it is the node that refuses.
      if (status === 'unavailable' || brief === 'busy') return `not available, ${brief}`;
      return brief === 'refused' ? brief : `refused, ${brief}`;
    }
    case 'running':
      return 'started';
    case 'aborted':
      return 'aborted';
    case 'timed_out':
      return 'timed out';
    case 'crashed':
      return 'crashed';
    case 'failed':
      return 'completed with errors';
    case 'succeeded':
      return 'completed successfully';
  }
}

/** `busy with job 4711` is `busy`: reasons that differ only in their details count together. */
function briefReason(status: PushJobNodeStatus, reason: string | null): string {
  const text = reason ?? (status === 'nacked' ? 'refused' : 'down');
  const brief = /^(busy|down)\b/.exec(text)?.[1] ?? text.split(/[:(]/, 1)[0] ?? text;
  return printable(brief.trim());
}

const DONE: Readonly<Record<PushJobNodeStatus, string>> = {
  new: 'Has not answered for',
  ready: 'Acknowledged, not started in',
  was_ready: 'Acknowledged, never started in',
  nacked: 'Refused',
  unavailable: 'Not available for',
  running: 'Is running',
  aborted: 'Aborted running',
  timed_out: 'Timed out running',
  crashed: 'Crashed running',
  failed: 'Failed running',
  succeeded: 'Succeeded running',
};

/** One node in one line (Push Jobs §1.1): `node foo Failed running job id 235 at 2012-05-04 00:00`. */
export function nodeLine(job: Pick<Job, 'id'>, node: JobNode): string {
  const why = node.reason === null || node.reason === '' ? '' : `: ${printable(node.reason)}`;
  return `node ${printable(node.node_name)} ${DONE[node.status]} job id ${job.id} at ${timeText(node.updated_at)}${why}`;
}

/** `2012-05-04 00:00:17` in the reader's time zone; text that is no time is shown as it is. */
export function timeText(value: string | number | null | undefined): string {
  if (value === null || value === undefined || value === '') return '-';
  const date = new Date(value);
  if (Number.isNaN(date.getTime())) return printable(String(value));
  const two = (part: number) => String(part).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** What the server says in words, with times as the reader's clock shows them. */
export function saidText(sentence: string): string {
  return printable(sentence.replace(/\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g, (time) => timeText(time)));
}

/** In that zone, and here where clocks show something else: `2026-11-30 03:00:00 in Asia/Tokyo (here 2026-11-29 19:00:00)`. */
export function zonedTimeText(value: string, timeZone: string): string {
  const here = timeText(value);
  // Swedish dates are ISO 8601's.
  const there = new Date(value).toLocaleString('sv-SE', { timeZone });
  return there === here ? here : `${there} in ${timeZone} (here ${here})`;
}
