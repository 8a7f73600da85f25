import { Violation } from '../kernel/violation.js';
import { AgentProcess } from './agent-process.js';
import { short } from './book.js';
import type { Ledger } from './ledger.js';
import { ORG } from './node-request.js';
import type { NodePlace } from './places.js';
import type { ServerProcess } from './server-process.js';

type Report = (violation: Violation) => void;

/** Push Jobs §5.5.3: an up node is always owned, by exactly one of idle, rehab, or a job that still has it. */
export function checkOwners({ decisions, nodes, owners }: ServerProcess, report: Report): void {
  for (const { name, status } of nodes.registry.list(ORG.id)) {
    const owner = owners.ownerOf(ORG.id, name);
    if ((status === 'up') === (owner?.kind === 'down')) {
      report(new Violation('ownership', `${name} is ${status} and owned by ${owner?.kind}`));
    }
    if (owner?.kind !== 'job') continue;
    const entry = decisions.book.nodesOf(owner.jobId).get(name);
    if (entry === undefined || !decisions.unfinished(owner.jobId).includes(entry)) {
      report(new Violation('ownership', `${name} is owned by job ${short(owner.jobId)}, which is through with it`));
    }
  }
  for (const job of decisions.book.jobs.values()) {
    if (job.phase === 'finished' || job.phase === 'new') continue;
    for (const { node } of decisions.unfinished(job.id)) {
      const owner = owners.ownerOf(ORG.id, node);
      if (owner?.kind === 'job' && owner.jobId === job.id) continue;
      if (owners.placeOf(ORG.id, job.id, node) > 0) {
        if (owner?.kind === 'idle') report(new Violation('queue', `${node} is idle while job ${short(job.id)} waits`));
        continue;
      }
      report(new Violation('ownership', `job ${short(job.id)} counts on ${node}, owned by ${owner?.kind ?? 'nobody'}`));
    }
  }
}

/** Whoever waits for a node waits for a job that had its nodes before: no two jobs wait for each other. */
export function checkQueues({ decisions, owners }: ServerProcess, report: Report): void {
  const waitsFor = new Map<string, Set<string>>();
  for (const job of decisions.book.jobs.values()) {
    if (job.phase === 'finished') continue;
    for (const { node } of decisions.unfinished(job.id)) {
      if (owners.placeOf(ORG.id, job.id, node) === 0) continue;
      const owner = owners.ownerOf(ORG.id, node);
      if (owner?.kind === 'job') waitsFor.set(job.id, (waitsFor.get(job.id) ?? new Set()).add(owner.jobId));
    }
  }
  for (const id of waitsFor.keys()) {
    const seen = new Set<string>();
    const look = (other: string): void => {
      for (const next of waitsFor.get(other) ?? []) {
        if (seen.has(next)) continue;
        seen.add(next);
        look(next);
      }
    };
    look(id);
    if (seen.has(id)) report(new Violation('queue', `job ${short(id)} waits for itself`));
  }
}

/** Push Jobs §4.4: a node that cannot be heard is down after the threshold, and `most` says how late that may be. */
export function checkSilence(
  server: ServerProcess,
  places: readonly NodePlace[],
  now: number,
  attentiveFrom: number,
  most: number,
  report: Report,
): void {
  for (const { plan, audibleAt } of places) {
    const silence = now - Math.max(audibleAt, attentiveFrom);
    if (silence <= most || server.nodes.registry.get(ORG.id, plan.name)?.status !== 'up') continue;
    report(new Violation('liveness', `${plan.name} is up after ${Math.round(silence)} ms of silence`));
  }
}

/** What each job's nodes have been seen to commit to, and what they ran. */
export class Commands {
  readonly #ledger: Ledger;
  readonly #report: Report;
  readonly #committed = new Map<string, Set<string>>();
  readonly #ran = new Map<string, number>();

  constructor(ledger: Ledger, report: Report) {
    this.#ledger = ledger;
    this.#report = report;
  }

  get count(): number {
    return this.#ran.size;
  }

  observe(place: NodePlace): void {
    const { agent } = place;
    if (!(agent instanceof AgentProcess) || agent.daemon === null) return;
    const { phase } = agent.daemon.machine;
    if (phase.kind === 'waiting') this.committed(place.plan.name, phase.job.jobId);
  }

  committed(node: string, jobId: string): void {
    const nodes = this.#committed.get(jobId) ?? new Set();
    this.#committed.set(jobId, nodes.add(node));
  }

  /** A command begins: never twice on a node, never before the quorum, never before the decision is durable. */
  began(node: string, jobId: string, others: number): void {
    const { durable, quorumMet } = this.#ledger;
    const what = `job ${short(jobId)} on ${node}`;
    const times = (this.#ran.get(`${node} ${jobId}`) ?? 0) + 1;
    this.#ran.set(`${node} ${jobId}`, times);
    if (times > 1) this.#report(new Violation('at most once', `${what} runs for the ${times}th time`));
    if (others > 0) this.#report(new Violation('one at a time', `${what} beside ${others} other commands`));
    const job = durable.jobs.get(jobId);
    const committed = this.#committed.get(jobId)?.size ?? 0;
    if (job === undefined || !quorumMet.has(jobId) || job.phase === 'new' || job.phase === 'voting') {
      this.#report(new Violation('quorum', `${what} began while the job is ${job?.phase ?? 'not stored'}`));
    } else if (committed < job.quorum) {
      this.#report(new Violation('quorum', `${what} began with ${committed} of ${job.quorum} commitments`));
    }
    const entry = durable.nodesOf(jobId).get(node);
    const decided = entry !== undefined && (entry.starting || (entry.status !== 'new' && entry.status !== 'ready'));
    if (!decided)
      this.#report(new Violation('save, then act', `${what} began, stored is ${entry?.status ?? 'nothing'}`));
  }
}

/** Until when each job must have ended: its own timeouts, and what was done to it. */
export class Deadlines {
  readonly #ends = new Map<string, number>();
  readonly #report: Report;

  constructor(report: Report) {
    this.#report = report;
  }

  /** Acknowledged at `now`, with so many milliseconds for all of its phases. */
  expect(jobId: string, end: number): void {
    this.#ends.set(jobId, end);
  }

  /** Something kept the servers from acting for this long. */
  postpone(ms: number): void {
    for (const [jobId, end] of this.#ends) this.#ends.set(jobId, end + ms);
  }

  /** @param phaseOf as the servers have decided it. */
  check(now: number, phaseOf: (jobId: string) => string | undefined): void {
    for (const [jobId, end] of this.#ends) {
      const phase = phaseOf(jobId);
      if (phase === 'finished') this.#ends.delete(jobId);
      else if (now > end) {
        this.#ends.delete(jobId);
        this.#report(new Violation('every job ends', `job ${short(jobId)} is still ${phase}`));
      }
    }
  }
}
