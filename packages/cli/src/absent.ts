import { named } from '@muster/base';
import type { JobNode } from './api.js';
import { nodesText } from './node-words.js';
import { printable } from './printable.js';

/** Reasons that are told apart. */
const REASONS = 10;
/** Names of each. */
const NAMED = 20;
const BUSY = 'busy';

type Told = Pick<JobNode, 'node_name' | 'reason' | 'status'>;

export interface Absence {
  readonly lines: readonly string[];
  /** Names of those of whom the lines tell everything. */
  readonly told: ReadonlySet<string>;
  /** Whether some of these are not named. */
  readonly more: boolean;
}

/**
 * Nodes that were asked and never ran the command, by why; nothing when there are none:
 *
 *     2 of 10 nodes did not take part
 *       down: web1
 *       refused: not allowed: web2
 */
export function absence(nodes: readonly Told[]): Absence {
  const reasons = new Map<string, string[]>();
  for (const { node_name, status, reason } of nodes) {
    if (status !== 'nacked' && status !== 'unavailable' && status !== 'was_ready') continue;
    const text = whyAbsent(status, reason);
    const names = reasons.get(text);
    if (names === undefined) reasons.set(text, [node_name]);
    else names.push(node_name);
  }
  if (reasons.size === 0) return { lines: [], told: new Set(), more: false };
  const absent = [...reasons].sort(([, a], [, b]) => b.length - a.length);
  const count = absent.reduce((sum, [, names]) => sum + names.length, 0);
  const lines = absent.slice(0, REASONS).map(([text, names]) => `  ${text}: ${named(names.map(printable), NAMED)}`);
  const others = absent.slice(REASONS).reduce((sum, [, names]) => sum + names.length, 0);
  // With what each of the busy is busy is left out.
  const whole = absent.slice(0, REASONS).filter(([text]) => text !== BUSY);
  const told = new Set(whole.flatMap(([, names]) => names));
  const all = [
    `${count} of ${nodesText(nodes.length)} did not take part`,
    ...lines,
    ...(others > 0 ? [`  for other reasons: ${others}`] : []),
  ];
  return { lines: all, told, more: whole.some(([, names]) => names.length > NAMED) };
}

/** A reason such as `busy with job 4711`. */
export function isBusy(reason: string): boolean {
  return /^busy\b/.test(reason);
}

function whyAbsent(status: JobNode['status'], reason: string | null): string {
  const text = printable(reason ?? '');
  if (status === 'was_ready') return text === '' ? 'not started' : text;
  // The busy are told together, whatever they are busy with.
  if (isBusy(text)) return BUSY;
  if (status === 'nacked') return text === 'permission denied' ? text : `refused${text === '' ? '' : `, ${text}`}`;
  return text === '' ? 'not available' : text;
}
