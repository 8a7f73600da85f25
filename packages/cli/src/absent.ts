import type { JobNode } from './api.js';
import { printable } from './printable.js';

/** Names told of those with one reason. */
const NAMED = 5;
/** Reasons that are told apart. */
const REASONS = 10;

/**
 * Nodes that were asked and never ran the command, by why; nothing when there are none:
 *
 *     2 of 10 nodes did not take part
 *       down: web1
 *       refused: not allowed: web2
 */
export function absentLines(nodes: readonly Pick<JobNode, 'node_name' | 'reason' | 'status'>[]): string[] {
  const reasons = new Map<string, string[]>();
  for (const { node_name, status, reason } of nodes) {
    if (status !== 'nacked' && status !== 'unavailable' && status !== 'was_ready') continue;
    const text = whyAbsent(status, reason);
    const names = reasons.get(text);
    if (names === undefined) reasons.set(text, [node_name]);
    else names.push(node_name);
  }
  if (reasons.size === 0) return [];
  const absent = [...reasons].sort(([, a], [, b]) => b.length - a.length);
  const count = absent.reduce((sum, [, names]) => sum + names.length, 0);
  const lines = absent.slice(0, REASONS).map(([text, names]) => `  ${text}: ${named(names)}`);
  const others = absent.slice(REASONS).reduce((sum, [, names]) => sum + names.length, 0);
  return [
    `${count} of ${nodes.length} nodes did not take part`,
    ...lines,
    ...(others > 0 ? [`  for other reasons: ${others}`] : []),
  ];
}

function whyAbsent(status: JobNode['status'], reason: string | null): string {
  const text = printable(reason ?? '');
  if (status === 'was_ready') return text === '' ? 'not started' : text;
  // The busy are told together, whatever they are busy with.
  if (/^busy\b/.test(text)) return 'busy';
  if (status === 'nacked') return text === 'permission denied' ? text : `refused${text === '' ? '' : `, ${text}`}`;
  return text === '' ? 'not available' : text;
}

function named(names: readonly string[]): string {
  const shown = names.slice(0, NAMED).map(printable).join(', ');
  return names.length > NAMED ? `${shown} and ${names.length - NAMED} more` : shown;
}
