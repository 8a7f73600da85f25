import { hasEnded, type Job, type PushJobNodeStatus } from './api.js';
import type { FeedEvent } from './sse.js';

/**
 * What a vote makes of a node (sheet §7.10). After `voting_timeout` it may still come (N9), so that one changes nothing.
 */
const AFTER_VOTE: Readonly<Record<string, PushJobNodeStatus>> = {
  success: 'ready',
  failure: 'nacked',
  down: 'unavailable',
  lost_availibility: 'unavailable',
};

/** What the end of a run makes of a node. */
const AFTER_RUN: Readonly<Record<string, PushJobNodeStatus>> = {
  success: 'succeeded',
  failure: 'failed',
  crashed: 'crashed',
  run_nacked: 'failed',
  run_nacked_while_running: 'failed',
  timed_out: 'timed_out',
  aborted: 'aborted',
};

/** Which node's run this event ends, and how; null: none. */
export function endOfRun(event: FeedEvent): { readonly node: string; readonly status: PushJobNodeStatus } | null {
  if (event.name !== 'run_complete') return null;
  const { node, status } = fields(event.data);
  const after = AFTER_RUN[String(status)];
  return typeof node !== 'string' || after === undefined ? null : { node, status: after };
}

/** Of a job that goes on, in order. */
const PHASES: readonly string[] = ['new', 'voting', 'running'];

/** How far a node is; it never goes back. */
function rank(status: PushJobNodeStatus): number {
  if (hasEnded(status)) return 3;
  return ['new', 'ready', 'running'].indexOf(status);
}

/**
 * Where the nodes of a job stand, followed through its event feed. Every event costs the same, so it serves ten nodes
 * and ten thousand.
 */
export class Tally {
  readonly #nodes = new Map<string, PushJobNodeStatus>();
  readonly #counts = new Map<PushJobNodeStatus, number>();
  #total = 0;
  #status = 'new';

  get total(): number {
    return this.#total;
  }

  /** Of the job. */
  get status(): string {
    return this.#status;
  }

  count(status: PushJobNodeStatus): number {
    return this.#counts.get(status) ?? 0;
  }

  /** Nodes that will not change any more. */
  get ended(): number {
    let ended = 0;
    for (const [status, count] of this.#counts) if (hasEnded(status)) ended += count;
    return ended;
  }

  /** Nodes that have not voted. */
  get undecided(): number {
    return this.#total - this.ended - this.count('ready') - this.count('running');
  }

  /** Takes over what the server says, e.g. when watching begins in the middle of a job. */
  load(job: Job): void {
    this.#nodes.clear();
    this.#counts.clear();
    this.#status = job.status;
    for (const [status, names] of Object.entries(job.nodes ?? {})) {
      for (const name of names) this.#set(name, status as PushJobNodeStatus);
    }
    this.#total = this.#nodes.size;
  }

  apply(event: FeedEvent): void {
    const data = fields(event.data);
    switch (event.name) {
      case 'start':
        this.#reach('voting');
        if (typeof data.node_count === 'number') this.#total = data.node_count;
        return;
      case 'quorum_vote':
        this.#move(data.node, AFTER_VOTE[String(data.status)]);
        return;
      case 'quorum_succeeded':
        this.#reach('running');
        return;
      case 'run_start':
        this.#move(data.node, 'running');
        return;
      case 'run_complete':
        this.#move(data.node, AFTER_RUN[String(data.status)]);
        return;
      case 'job_complete':
        this.#status = String(data.status);
        return;
    }
  }

  /** A feed begins with what has been: it does not turn the job back. */
  #reach(status: string): void {
    const before = PHASES.indexOf(this.#status);
    if (before >= 0 && before < PHASES.indexOf(status)) this.#status = status;
  }

  /** A finished node that goes down is mentioned again (sheet §6.2) but keeps its status. */
  #move(node: unknown, status: PushJobNodeStatus | undefined): void {
    if (typeof node !== 'string' || status === undefined) return;
    const before = this.#nodes.get(node);
    if (before === undefined || rank(status) > rank(before)) this.#set(node, status);
  }

  #set(node: string, status: PushJobNodeStatus): void {
    const before = this.#nodes.get(node);
    if (before !== undefined) this.#counts.set(before, this.count(before) - 1);
    this.#nodes.set(node, status);
    this.#counts.set(status, this.count(status) + 1);
  }
}

function fields(data: unknown): Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null ? (data as Record<string, unknown>) : {};
}
