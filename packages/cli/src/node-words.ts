import type { PushJobNodeStatus } from './api.js';

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

/** What somebody typed who has read the word; any other text is as it was. */
export function nodeStatusNamed(text: string): string {
  const word = text.replaceAll('_', ' ');
  return Object.entries(WORDS).find(([, each]) => each === word)?.[0] ?? text;
}
