import { readEvents } from '@muster/platform/log';
import type { Batch } from '@muster/store';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import { Book, jobEntry, jobNodeEntry, type Row, short, shown } from './book.js';
import { legalJob, legalJobNode } from './legal.js';

/** What the database holds, commit by commit, whichever server stored it: it may only change as the specification's tables allow. */
export class Ledger {
  readonly report: (violation: Violation) => void;
  readonly trace: Trace;
  /** For the counts of what runs have reached. */
  readonly reach: (what: string) => void;
  readonly durable = new Book();
  /** Jobs whose quorum was found to be met when their execution was decided. */
  readonly quorumMet = new Set<string>();
  /** The job that somebody lets go on just now. */
  continued: string | null = null;
  /** The clocks of servers are never set: deadlines mean what they say. */
  steadyClock = true;

  constructor(trace: Trace, report: (violation: Violation) => void, reach: (what: string) => void) {
    this.reach = reach;
    this.trace = trace;
    this.report = report;
  }

  /** @param floor Position of the first event. */
  stored(batch: Batch, floor: number): void {
    for (const { statement, rows } of batch) {
      for (const row of rows) this.#store(statement.table, row);
      if (statement.table === 'event_log') this.#checkPositions(rows, floor);
    }
  }

  /** Whoever has read up to a position has read everything up to there. */
  #checkPositions(rows: readonly Row[], floor: number): void {
    const events = rows.flatMap(({ frames }) => readEvents({ floor, frames: frames as Uint8Array }));
    const positions = events.map(({ position }) => position).sort((a, b) => a - b);
    for (const position of positions) {
      const expected = this.durable.position + 1;
      if (position !== expected) this.#violated('log', `position ${position} was stored where ${expected} was due`);
      this.durable.position = position;
    }
  }

  #store(table: string, row: Row): void {
    const book = this.durable;
    switch (table) {
      case 'push_jobs': {
        const job = jobEntry(row);
        const before = book.jobs.get(job.id);
        if (!legalJob(before, job, false)) {
          this.#violated('stored transition', `job ${short(job.id)}: ${shown(before)} to ${shown(job)}`);
        }
        book.jobs.set(job.id, job);
        return;
      }
      case 'push_job_nodes': {
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
        book.statuses.set(String(row.name), String(row.status));
        return;
      case 'push_node_owners':
        book.owners.set(String(row.node), String(row.owner));
        return;
      case 'event_log':
        book.number(row, (detail) => this.#violated('stored events', detail));
        return;
      default:
        return;
    }
  }

  /** Told, not thrown: this runs inside the shipped code, which would catch it. */
  #violated(rule: string, detail: string): void {
    this.report(new Violation(rule, detail));
  }
}
