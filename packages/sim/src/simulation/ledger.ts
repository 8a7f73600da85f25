import { feedContents, readFeedEvent } from '@muster/server';
import { type Batch, readEvents, type Store, type Write } from '@muster/store';
import type { JobEntry, JobNodeEntry } from './entries.js';
import { isFinalJobNode, legalJob, legalJobNode, legalOwner } from './legal.js';
import type { Trace } from './trace.js';
import { Violation } from './violation.js';

type Row = Write['row'];

/** State as decided or as stored: what the rules are checked against. */
export class Book {
  readonly jobs = new Map<string, JobEntry>();
  readonly jobNodes = new Map<string, Map<string, JobNodeEntry>>();
  readonly owners = new Map<string, { readonly owner: string; readonly status: string }>();
  /** Number of the last event of each job's feed. */
  readonly events = new Map<string, number>();
  /** Position of the last event in the log. */
  position = 0;

  static copy(of: Book): Book {
    const book = new Book();
    for (const [id, job] of of.jobs) book.jobs.set(id, job);
    for (const [id, nodes] of of.jobNodes) book.jobNodes.set(id, new Map(nodes));
    for (const [name, owner] of of.owners) book.owners.set(name, owner);
    for (const [id, seq] of of.events) book.events.set(id, seq);
    book.position = of.position;
    return book;
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

/**
 * Sees every row on its way to the store. `decided` is what the running server has decided so far, row by row;
 * `durable` is what the database holds, commit by commit. Both may only change as the tables of the specification
 * allow.
 */
export class Ledger {
  readonly #report: (violation: Violation) => void;

  readonly durable = new Book();
  decided = new Book();
  /** Jobs whose quorum was found to be met when their execution was decided. */
  readonly quorumMet = new Set<string>();
  /** The server's clock is never set: deadlines mean what they say. */
  steadyClock = true;
  /** The server has loaded what was stored, and goes on from there. */
  started = false;

  readonly #trace: Trace;

  constructor(trace: Trace, report: (violation: Violation) => void) {
    this.#trace = trace;
    this.#report = report;
  }

  /** Told, not thrown: this runs inside the shipped code, which would catch it. */
  #violated(rule: string, detail: string): void {
    this.#report(new Violation(rule, detail));
  }

  /** A new server process knows what is stored, and nothing else. */
  reset(): void {
    this.decided = Book.copy(this.durable);
    this.started = false;
  }

  /** The store of one server process; `now` is its clock. Once the process is dead nothing is answered any more. */
  watch(store: Store, now: () => number, alive: () => boolean): Store {
    const never = new Promise<never>(() => undefined);
    return {
      kind: store.kind,
      read: store.read,
      commit: async (writes) => {
        if (!alive()) return never;
        await store.commit(writes);
        for (const write of writes) this.#begin(write, now());
      },
      persist: (writes) => {
        if (!alive()) return never;
        for (const write of writes) this.#decide(write.statement.table, write.row, now());
        return store.persist(writes);
      },
      transact: (work) => store.transact(work),
      health: () => store.health(),
      close: () => store.close(),
    };
  }

  /** `now` is the clock of the server that stores. */
  stored(batch: Batch, now: number): void {
    for (const { statement, rows } of batch) {
      for (const row of rows) {
        this.#store(statement.table, row);
        this.#begin({ statement, row }, now);
      }
      if (statement.table === 'event_log') this.#checkPositions(rows);
    }
  }

  /** Whoever has read up to a position has read everything up to there. */
  #checkPositions(rows: readonly Row[]): void {
    const positions = rows.flatMap((row) => readEvents(row.frames as Uint8Array).map(({ position }) => position));
    const first = Math.min(...positions);
    if (first <= this.durable.position) {
      this.#violated('log', `position ${first} was stored after ${this.durable.position}`);
    }
    if (new Set(positions).size < positions.length) this.#violated('log', 'a position was given twice');
    this.durable.position = Math.max(...positions);
  }

  /**
   * What a commit begins is decided when it is stored, and its caller hears of it later: something may have come
   * between.
   */
  #begin({ statement, row }: Write, now: number): void {
    const { jobs, events } = this.decided;
    const id = String(row.job_id ?? row.id);
    const { table } = statement;
    switch (table) {
      case 'jobs':
        if (!jobs.has(id)) this.#decide(table, row, now);
        return;
      case 'job_nodes':
        if (!this.decided.nodesOf(id).has(String(row.node))) this.#decide(table, row, now);
        return;
      case 'event_log': {
        const last = feedEvents(row).at(-1);
        if (last !== undefined && (events.get(last.jobId) ?? 0) < last.seq) this.#decide(table, row, now);
        return;
      }
      default:
        return;
    }
  }

  #decide(table: string, row: Row, now: number): void {
    const book = this.decided;
    switch (table) {
      case 'jobs': {
        const job = jobEntry(row);
        const before = book.jobs.get(job.id);
        if (!legalJob(before, job, true)) {
          this.#violated('illegal transition', `job ${short(job.id)}: ${shown(before)} to ${shown(job)}`);
        }
        if (job.status === 'running' && before?.status === 'voting') this.#checkQuorum(book, before, now);
        book.jobs.set(job.id, job);
        this.#trace.say(() => `decided: job ${short(job.id)} is ${shown(job)}`);
        return;
      }
      case 'job_nodes': {
        const node = jobNodeEntry(row);
        const nodes = book.nodesOf(node.jobId);
        const before = nodes.get(node.node);
        if (!legalJobNode(before, node, true)) {
          this.#violated(
            'illegal transition',
            `${node.node} in job ${short(node.jobId)}: ${shown(before)} to ${shown(node)}`,
          );
        }
        nodes.set(node.node, node);
        this.#trace.say(() => `decided: ${node.node} in job ${short(node.jobId)} is ${shown(node)}`);
        this.#checkConcurrency(book, node.jobId);
        return;
      }
      case 'nodes': {
        const name = String(row.name);
        const entry = { owner: String(row.owner), status: String(row.status) };
        const before = book.owners.get(name);
        if (before !== undefined && this.started && !legalOwner(before.owner, entry.owner)) {
          this.#violated('illegal transition', `${name}: owned by ${before.owner}, then by ${entry.owner}`);
        }
        if ((entry.status === 'down') !== (entry.owner === 'down')) {
          this.#violated('ownership', `${name} is ${entry.status} and owned by ${entry.owner}`);
        }
        book.owners.set(name, entry);
        this.#trace.say(() => `decided: ${name} is ${entry.status}, owned by ${entry.owner}`);
        return;
      }
      case 'event_log':
        this.#count('events', book, row);
        return;
      default:
        return;
    }
  }

  /** Events of a feed are numbered without gaps. */
  #count(rule: string, book: Book, row: Row): void {
    for (const { jobId, seq } of feedEvents(row)) {
      const expected = (book.events.get(jobId) ?? 0) + 1;
      if (seq !== expected) this.#violated(rule, `job ${short(jobId)}: event ${seq} where ${expected} was due`);
      book.events.set(jobId, expected);
    }
  }

  #store(table: string, row: Row): void {
    const book = this.durable;
    switch (table) {
      case 'jobs': {
        const job = jobEntry(row);
        const before = book.jobs.get(job.id);
        if (!legalJob(before, job, false)) {
          this.#violated('stored transition', `job ${short(job.id)}: ${shown(before)} to ${shown(job)}`);
        }
        book.jobs.set(job.id, job);
        return;
      }
      case 'job_nodes': {
        const node = jobNodeEntry(row);
        const nodes = book.nodesOf(node.jobId);
        const before = nodes.get(node.node);
        if (!legalJobNode(before, node, false)) {
          this.#violated(
            'stored transition',
            `${node.node} in job ${short(node.jobId)}: ${shown(before)} to ${shown(node)}`,
          );
        }
        nodes.set(node.node, node);
        return;
      }
      case 'nodes':
        book.owners.set(String(row.name), { owner: String(row.owner), status: String(row.status) });
        return;
      case 'event_log':
        this.#count('stored events', book, row);
        return;
      default:
        return;
    }
  }

  /** N9: enough nodes have committed, and all have voted or the voting timeout has passed. */
  #checkQuorum(book: Book, job: JobEntry, now: number): void {
    const ready = book.count(job.id, (node) => node.status === 'ready');
    const silent = book.count(job.id, (node) => node.status === 'new');
    if (ready < job.quorum) {
      this.#violated('quorum', `job ${short(job.id)} runs with ${ready} of ${job.quorum} nodes ready`);
    }
    if (silent > 0 && this.steadyClock && now < (job.deadline ?? 0)) {
      this.#violated('quorum', `job ${short(job.id)} runs while ${silent} nodes have yet to vote`);
    }
    this.quorumMet.add(job.id);
  }

  #checkConcurrency(book: Book, jobId: string): void {
    const limit = book.jobs.get(jobId)?.concurrency ?? null;
    if (limit === null) return;
    const busy = book.count(jobId, (node) => node.status === 'running' || node.starting);
    if (busy > limit) this.#violated('concurrency', `job ${short(jobId)}: ${busy} nodes at once, ${limit} allowed`);
  }

  /** Nodes that the job has not let go of. */
  unfinished(jobId: string): readonly JobNodeEntry[] {
    return [...this.decided.nodesOf(jobId).values()].filter((node) => !isFinalJobNode(node.status));
  }
}

function jobEntry(row: Row): JobEntry {
  const spec: unknown = JSON.parse(String(row.spec));
  const { quorum, concurrency } = spec as { quorum: number; concurrency: number | null };
  return {
    id: String(row.id),
    status: String(row.status),
    phase: String(row.phase),
    deadline: typeof row.deadline === 'number' ? row.deadline : null,
    quorum,
    concurrency,
  };
}

function jobNodeEntry(row: Row): JobNodeEntry {
  return {
    jobId: String(row.job_id),
    node: String(row.node),
    status: String(row.status),
    starting: row.starting === 1,
  };
}

function shown(entry: JobEntry | JobNodeEntry | undefined): string {
  if (entry === undefined) return 'nothing';
  if ('phase' in entry) return `${entry.phase}/${entry.status}`;
  return entry.starting ? 'starting' : entry.status;
}

/** What is handed in for the log, or stored in it, of a job's feed. */
function feedEvents({ subject, frames, start, end }: Row): readonly { readonly jobId: string; readonly seq: number }[] {
  if (typeof subject !== 'string' || !(frames instanceof Uint8Array)) return [];
  const part = typeof start === 'number' && typeof end === 'number' ? frames.subarray(start, end) : frames;
  return feedContents(part).map((content) => ({ jobId: subject, seq: readFeedEvent(content).seq }));
}

export function short(jobId: string): string {
  return jobId.slice(-4);
}
