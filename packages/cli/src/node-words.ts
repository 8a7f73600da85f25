import type { PushJobNodeStatus } from './api.js';
import { MusterError } from './errors.js';
import { NODE_STATUSES } from './summary.js';

/** As people read them, here and in the console; the API and `--json` have the names. */
const WORDS: Readonly<Partial<Record<PushJobNodeStatus, string>>> = {
  nacked: 'refused',
  was_ready: 'not started',
  timed_out: 'timed out',
};

export function nodesText(count: number): string {
  return count === 1 ? '1 node' : `${count} nodes`;
}

export function nodeStatusWord(status: PushJobNodeStatus): string {
  return WORDS[status] ?? status;
}

/**
 * What somebody typed who has read the word, or the name.
 * @throws MusterError `usage` when it is none
 */
export function nodeStatusNamed(flag: string, text: string): PushJobNodeStatus {
  const word = text.trim().toLowerCase().replaceAll('_', ' ');
  const status = NODE_STATUSES.find((each) => word === each.replaceAll('_', ' ') || word === WORDS[each]);
  if (status !== undefined) return status;
  throw new MusterError('usage', {
    reason: `${flag} takes statuses of nodes, not '${text}': ${NODE_STATUSES.join(', ')}`,
  });
}
