import type { Batch, Store, Write } from '@muster/store';
import { Violation } from '../kernel/violation.js';
import { Book, feedEvents, jobEntry, jobNodeEntry, type Row, short, shown } from './book.js';
import type { JobEntry, JobNodeEntry } from './entries.js';
import type { Ledger } from './ledger.js';
import { isFinalJobNode, legalJob, legalJobNode, legalOwner, standing } from './legal.js';

const FAILURES: ReadonlySet<string> = new Set(['failed', 'crashed', 'timed_out']);

/**
 * What one server process has decided so far: every row on its way to the store, one transition at a time. It may only
 * change as the tables of the specification allow.
 */
export class Decisions {
  readonly book: Book;
  /** The server has loaded what was stored, and goes on from there. */
  started = false;
  /** Of each job, nodes that failed once they were started. */
  readonly #failed = new Map<string, Set<string>>();
  /** Of each job in batches, in which one a node was started, as far as this server has done so. */
  readonly #batches = new Map<string, Map<string, number>>();
  /** Nodes that jobs waited for, and those of which this server cannot know: their votes are not waited for. */
  readonly #waited = new Set<string>();
  readonly #ledger: Ledger;

  /** Of a new process, which knows what is stored and nothing else. */
  constructor(ledger: Ledger) {
    this.#ledger = ledger;
    this.book = Book.copy(ledger.durable);
    for (const [id, nodes] of this.book.jobNodes) {
      const patient = this.book.jobs.get(id)?.waitTimeout !== undefined;
      for (const { node, status } of nodes.values()) if (patient && status === 'new') this.#waited.add(`${id} ${node}`);
    }
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
      hints: store.hints,
      close: () => store.close(),
    };
  }

  /** A batch of this server is durable. `floor`: position of its first event. `now` is the clock of the server. */
  stored(batch: Batch, floor: number, now: number): void {
    this.#ledger.stored(batch, floor);
    for (const { statement, rows } of batch) for (const row of rows) this.#begin({ statement, row }, now);
  }

  /** Nodes that the job has not let go of. */
  unfinished(jobId: string): readonly JobNodeEntry[] {
    return [...this.book.nodesOf(jobId).values()].filter((node) => !isFinalJobNode(node.status));
  }

  /**
   * What a commit begins is decided when it is stored, and its caller hears of it later: something may have come
   * between.
   */
  #begin({ statement, row }: Write, now: number): void {
    const { jobs, events } = this.book;
    const id = String(row.job_id ?? row.id);
    const { table } = statement;
    switch (table) {
      case 'push_jobs':
        if (!jobs.has(id)) this.#decide(table, row, now);
        return;
      case 'push_job_nodes':
        if (!this.book.nodesOf(id).has(String(row.node))) this.#decide(table, row, now);
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
    const book = this.book;
    switch (table) {
      case 'push_jobs': {
        const job = jobEntry(row);
        const before = book.jobs.get(job.id);
        if (!legalJob(before, job, true)) {
          this.#violated('illegal transition', `job ${short(job.id)}: ${shown(before)} to ${shown(job)}`);
        }
        if (job.status === 'running' && before?.status === 'voting') this.#checkQuorum(book, before, now);
        this.#reachJob(before, job);
        this.#reachStage(before, job);
        this.#checkHold(before, job);
        book.jobs.set(job.id, job);
        this.#ledger.trace.say(() => `decided: job ${short(job.id)} is ${shown(job)}`);
        return;
      }
      case 'push_job_nodes': {
        const node = jobNodeEntry(row);
        const nodes = book.nodesOf(node.jobId);
        const before = nodes.get(node.node);
        if (!legalJobNode(before, node, true)) {
          this.#violated(
            'illegal transition',
            `${node.node} in job ${short(node.jobId)}: ${shown(before)} to ${shown(node)}`,
          );
        }
        this.#reachJobNode(before, node);
        if (node.waits) this.#waited.add(`${node.jobId} ${node.node}`);
        this.#checkBrake(before, node);
        this.#checkBatch(before, node);
        nodes.set(node.node, node);
        this.#ledger.trace.say(() => `decided: ${node.node} in job ${short(node.jobId)} is ${shown(node)}`);
        this.#checkConcurrency(book, node.jobId);
        return;
      }
      case 'nodes':
        book.statuses.set(String(row.name), String(row.status));
        return;
      case 'push_node_owners': {
        const name = String(row.node);
        const owner = String(row.owner);
        const before = book.owners.get(name);
        const status = book.statuses.get(name);
        if (before !== undefined && this.started && !legalOwner(before, owner)) {
          this.#violated('illegal transition', `${name}: owned by ${before}, then by ${owner}`);
        }
        if ((status === 'down') !== (owner === 'down')) {
          this.#violated('ownership', `${name} is ${status} and owned by ${owner}`);
        }
        if (before !== undefined && before !== owner) this.#ledger.reach(`node: ${before} to ${owner}`);
        book.owners.set(name, owner);
        this.#ledger.trace.say(() => `decided: ${name} is ${status}, owned by ${owner}`);
        return;
      }
      case 'event_log':
        book.number(row, (detail) => this.#violated('events', detail));
        return;
      default:
        return;
    }
  }

  #reachJob(before: JobEntry | undefined, { id, phase, status }: JobEntry): void {
    const { reach } = this.#ledger;
    if (before?.phase === phase) return;
    reach(`job: ${before?.phase ?? 'nothing'} to ${phase === 'finished' ? status : phase}`);
    if (phase !== 'aborting') return;
    if (this.book.count(id, ({ starting }) => starting) > 0) reach('job: aborted while a node starts');
    if (this.book.count(id, ({ status: node }) => node === 'new') > 0) reach('job: aborted before a node has voted');
  }

  #reachJobNode(before: JobNodeEntry | undefined, after: JobNodeEntry): void {
    const { reach } = this.#ledger;
    const [from, to] = [before === undefined ? 'nothing' : standing(before), standing(after)];
    if (after.waits && before?.waits === false) reach('job-node: waits for its turn');
    if (before?.waits === true && from === to && !after.waits) reach('job-node: asked when its turn came');
    if (from === to) return;
    reach(`job-node: ${from} to ${to}`);
    if (before?.waits === true && to === 'nacked') reach('job-node: waited for in vain');
    const phase = this.book.jobs.get(after.jobId)?.phase;
    if (to === 'ready' && phase === 'running') reach('job-node: late vote');
    if (to === 'was_ready' && phase === 'running') reach('job-node: not started after too many failures');
  }

  #reachStage(before: JobEntry | undefined, { phase, stage }: JobEntry): void {
    const { reach } = this.#ledger;
    const last = before?.stage ?? null;
    if (phase !== 'running' || stage === null || (last?.batch === stage.batch && last.hold === stage.hold)) return;
    if (stage.hold !== null) reach(`batch: ${stage.hold}`);
    else if (last?.hold != null) reach(`batch: goes on after ${last.hold}`);
    else if (stage.batch > 1) reach('batch: the next one follows at once');
  }

  /** Only who was asked lets a job go on, whatever happened to servers meanwhile. */
  #checkHold(before: JobEntry | undefined, { id, phase, stage, batches }: JobEntry): void {
    if (phase !== 'running') return;
    if (batches !== undefined && stage === null) this.#violated('batch', `job ${short(id)} has lost its batches`);
    const hold = before?.stage?.hold ?? null;
    if (hold === null || hold === 'pause' || stage?.hold != null || this.#ledger.continued === id) return;
    this.#violated('batch', `job ${short(id)} goes on after ${hold}, and nobody said so`);
  }

  /** A batch is begun when the one before has ended, nothing is started while the job is held, and no more than its size. */
  #checkBatch(before: JobNodeEntry | undefined, after: JobNodeEntry): void {
    if (before === undefined || before.starting || !after.starting) return;
    const job = this.book.jobs.get(after.jobId);
    if (job?.stage == null) return;
    const { batch, hold } = job.stage;
    const what = `${after.node} in job ${short(job.id)}`;
    if (hold !== null) this.#violated('batch', `${what} is started in a ${hold}`);
    if (job.batches === undefined) return;
    const started = this.#batches.get(job.id) ?? new Map<string, number>();
    this.#batches.set(job.id, started.set(after.node, batch));
    const own = [...started.values()].filter((other) => other === batch).length;
    const size = job.batches[Math.min(batch, job.batches.length) - 1] ?? 0;
    if (own > size) this.#violated('batch', `${what} is number ${own} of a batch of ${size}`);
    for (const [name, other] of started) {
      const entry = this.book.nodesOf(job.id).get(name);
      const busy = entry !== undefined && (entry.starting || entry.status === 'running');
      if (busy && other < batch) this.#violated('batch', `${what} is started while ${name} of an earlier batch runs`);
    }
  }

  /** §8.1.4: once more nodes have failed than the job allows, none is started. */
  #checkBrake(before: JobNodeEntry | undefined, after: JobNodeEntry): void {
    const job = this.book.jobs.get(after.jobId);
    const most = job?.maxFailures == null ? null : job.maxFailures + (job.stage?.excused ?? 0);
    if (most === null || before === undefined) return;
    const failed = this.#failed.get(after.jobId) ?? new Set();
    this.#failed.set(after.jobId, failed);
    const from = standing(before);
    if ((from === 'starting' || from === 'running') && FAILURES.has(after.status)) failed.add(after.node);
    if (from !== 'ready' || !after.starting || failed.size <= most) return;
    this.#violated('brake', `${after.node} in job ${short(after.jobId)} is started after ${failed.size} failures`);
  }

  /** N9: enough nodes have committed, and all have voted or the voting timeout has passed. */
  #checkQuorum(book: Book, job: JobEntry, now: number): void {
    const ready = book.count(job.id, (node) => node.status === 'ready');
    const silent = book.count(job.id, ({ node, status }) => status === 'new' && !this.#waited.has(`${job.id} ${node}`));
    if (ready < job.quorum) {
      this.#violated('quorum', `job ${short(job.id)} runs with ${ready} of ${job.quorum} nodes ready`);
    }
    if (silent > 0 && this.#ledger.steadyClock && now < (job.deadline ?? 0)) {
      this.#violated('quorum', `job ${short(job.id)} runs while ${silent} nodes have yet to vote`);
    }
    this.#ledger.quorumMet.add(job.id);
  }

  #checkConcurrency(book: Book, jobId: string): void {
    const limit = book.jobs.get(jobId)?.concurrency ?? null;
    if (limit === null) return;
    const busy = book.count(jobId, (node) => node.status === 'running' || node.starting);
    if (busy > limit) this.#violated('concurrency', `job ${short(jobId)}: ${busy} nodes at once, ${limit} allowed`);
  }

  #violated(rule: string, detail: string): void {
    this.#ledger.report(new Violation(rule, detail));
  }
}
