import { idOf, readFeedEntry } from '@muster/platform/feeds';
import { feedContents } from '@muster/platform/log';
import { PUSH_FEED, type Stage } from '@muster/push';
import type { Write } from '@muster/store';
import type { JobEntry, JobNodeEntry } from './entries.js';

export type Row = Write['row'];

/** State as decided or as stored: what the rules are checked against. */
export class Book {
  readonly jobs = new Map<string, JobEntry>();
  readonly jobNodes = new Map<string, Map<string, JobNodeEntry>>();
  /** Of nodes: up or down, and whose they are. */
  readonly statuses = new Map<string, string>();
  readonly owners = new Map<string, string>();
  /** Number of the last event of each job's feed. */
  readonly events = new Map<string, number>();
  /** Position of the last event in the log. */
  position = 0;

  static copy(of: Book): Book {
    const book = new Book();
    for (const [id, job] of of.jobs) book.jobs.set(id, job);
    for (const [id, nodes] of of.jobNodes) book.jobNodes.set(id, new Map(nodes));
    for (const [name, status] of of.statuses) book.statuses.set(name, status);
    for (const [name, owner] of of.owners) book.owners.set(name, owner);
    for (const [id, seq] of of.events) book.events.set(id, seq);
    book.position = of.position;
    return book;
  }

  /** Events of a job's feed are numbered without gaps. `wrong` is told of those that are not. */
  number(row: Row, wrong: (detail: string) => void): void {
    for (const { jobId, seq } of feedEvents(row)) {
      const expected = (this.events.get(jobId) ?? 0) + 1;
      if (seq !== expected) wrong(`job ${short(jobId)}: event ${seq} where ${expected} was due`);
      this.events.set(jobId, expected);
    }
  }

  nodesOf(jobId: string): Map<string, JobNodeEntry> {
    let nodes = this.jobNodes.get(jobId);
    if (nodes === undefined) {
      nodes = new Map();
      this.jobNodes.set(jobId, nodes);
    }
    return nodes;
  }

  count(jobId: string, which: (node: JobNodeEntry) => boolean): number {
    let count = 0;
    for (const node of this.nodesOf(jobId).values()) if (which(node)) count += 1;
    return count;
  }
}

export function jobEntry(row: Row): JobEntry {
  const spec: unknown = JSON.parse(String(row.spec));
  type Spec = Pick<JobEntry, 'quorum' | 'concurrency' | 'maxFailures' | 'waitTimeout' | 'batches' | 'onFailures'>;
  const { quorum, concurrency, maxFailures, waitTimeout, batches, onFailures } = spec as Spec;
  return {
    id: String(row.id),
    status: String(row.status),
    phase: String(row.phase),
    deadline: typeof row.deadline === 'number' ? row.deadline : null,
    quorum,
    concurrency,
    maxFailures,
    waitTimeout,
    batches,
    onFailures,
    stage: typeof row.stage === 'string' ? (JSON.parse(row.stage) as Stage) : null,
  };
}

export function jobNodeEntry(row: Row): JobNodeEntry {
  return {
    jobId: String(row.job_id),
    node: String(row.node),
    status: String(row.status),
    starting: row.starting === 1,
    waits: row.status === 'new' && String(row.reason).startsWith('waits: '),
  };
}

export function shown(entry: JobEntry | JobNodeEntry | undefined): string {
  if (entry === undefined) return 'nothing';
  if ('phase' in entry) return `${entry.phase}/${entry.status}`;
  return entry.starting ? 'starting' : entry.status;
}

/** What is handed in for the log, or stored in it, of a job's feed. */
export function feedEvents({
  subject,
  frames,
  start,
  end,
}: Row): readonly { readonly jobId: string; readonly seq: number }[] {
  const jobId = typeof subject === 'string' ? idOf(PUSH_FEED, subject) : null;
  if (jobId === null || !(frames instanceof Uint8Array)) return [];
  const part = typeof start === 'number' && typeof end === 'number' ? frames.subarray(start, end) : frames;
  // Positions are given later, from 1 on at least.
  const contents = feedContents({ floor: 1, frames: part });
  return contents.map((content) => ({ jobId, seq: readFeedEntry(PUSH_FEED, content).seq }));
}

export function short(jobId: string): string {
  return jobId.slice(-4);
}
