import type { JobEntry, JobNodeEntry } from './entries.js';

/** The transitions of the specification, written down a second time and from it alone (Push Jobs §5.3, §5.5, §5.6). */

const JOB: Readonly<Record<string, readonly string[]>> = {
  '': ['new', 'voting'],
  new: ['voting', 'aborting', 'finished'],
  voting: ['running', 'aborting', 'finished'],
  running: ['aborting', 'finished'],
  aborting: ['finished'],
  finished: [],
};

const FINAL_JOB: readonly string[] = ['complete', 'quorum_failed', 'timed_out', 'aborted', 'crashed'];

/** How a phase may end. */
const ENDINGS: Readonly<Record<string, readonly string[]>> = {
  new: ['aborted', 'crashed'],
  voting: ['quorum_failed', 'aborted', 'crashed'],
  running: ['complete', 'timed_out', 'aborted', 'crashed'],
  aborting: ['quorum_failed', 'timed_out', 'aborted', 'crashed'],
};

const JOB_NODE: Readonly<Record<string, readonly string[]>> = {
  '': ['new', 'nacked', 'unavailable'],
  new: ['ready', 'nacked', 'unavailable', 'crashed'],
  ready: ['starting', 'unavailable', 'was_ready', 'crashed', 'failed', 'timed_out'],
  starting: ['running', 'succeeded', 'failed', 'aborted', 'crashed', 'timed_out', 'was_ready'],
  running: ['succeeded', 'failed', 'aborted', 'crashed', 'timed_out'],
};

const OWNER: Readonly<Record<string, readonly string[]>> = {
  down: ['rehab'],
  rehab: ['idle', 'down'],
  idle: ['job', 'rehab', 'down'],
  job: ['idle', 'rehab', 'down'],
};

export function isFinalJobNode(status: string): boolean {
  return !(status in JOB_NODE);
}

/** `single`: one transition. Otherwise any number of them, because commits hold the last state only. */
export function legalJob(before: JobEntry | undefined, after: JobEntry, single: boolean): boolean {
  const from = before?.phase ?? '';
  if ((after.phase === 'finished') !== FINAL_JOB.includes(after.status)) return false;
  if (from === after.phase) return from !== 'finished' || before?.status === after.status;
  if (!(single ? (JOB[from] ?? []) : reachable(JOB, from)).includes(after.phase)) return false;
  return !single || after.phase !== 'finished' || (ENDINGS[from] ?? []).includes(after.status);
}

export function legalJobNode(before: JobNodeEntry | undefined, after: JobNodeEntry, single: boolean): boolean {
  const from = before === undefined ? '' : standing(before);
  const to = standing(after);
  if (after.starting && after.status !== 'ready') return false;
  return from === to || (single ? (JOB_NODE[from] ?? []) : reachable(JOB_NODE, from)).includes(to);
}

export function legalOwner(before: string, after: string): boolean {
  return before === after || (OWNER[before] ?? []).includes(after);
}

export function standing(node: JobNodeEntry): string {
  return node.status === 'ready' && node.starting ? 'starting' : node.status;
}

const closures = new Map<Readonly<Record<string, readonly string[]>>, Map<string, readonly string[]>>();

function reachable(table: Readonly<Record<string, readonly string[]>>, from: string): readonly string[] {
  const known = closures.get(table) ?? new Map<string, readonly string[]>();
  closures.set(table, known);
  const found = known.get(from);
  if (found !== undefined) return found;
  const seen = new Set<string>();
  const look = (state: string): void => {
    for (const next of table[state] ?? []) {
      if (seen.has(next)) continue;
      seen.add(next);
      look(next);
    }
  };
  look(from);
  const all = [...seen];
  known.set(from, all);
  return all;
}
