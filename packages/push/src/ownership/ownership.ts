import { type Clock, every, type Timer } from '@muster/base';
import type { NodeListener, NodeMessage, NodeRegistry, NodeReport, NodeView, RestartEnd } from '@muster/nodes';
import type { ServerConfig } from '@muster/platform/config';
import type { Metrics } from '@muster/platform/metrics';
import { BoundedLog, type LayerLog } from '@muster/platform/upkeep';
import type { Schema, Store } from '@muster/store';
import { isTaskReport } from '@muster/wire';
import type { Transaction } from 'kysely';
import { AWAITED_MS, MAX_WAITING_JOBS } from '../limits.js';
import { ownerAspect } from './aspect.js';
import { ownerEvent } from './events.js';
import { type OwnershipEffect, type OwnershipEvent, stepOwnership } from './machine.js';
import { createOwnershipMetrics, type OwnershipMetrics } from './metrics.js';
import { OwnedNode, reasonOf } from './owned-node.js';
import { Rehab } from './rehab.js';
import { deleteOwner, leaveIdle, loadOwners, saveOwner } from './repository.js';
import type { ClaimResult, NodeOwners, Owner, OwningJobs } from './types.js';

export interface OwnershipDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: LayerLog;
  readonly metrics: Metrics;
  readonly nodes: NodeRegistry;
  readonly config: Pick<ServerConfig, 'heartbeat' | 'command'>;
  /** Of this server process, written into the rows. */
  readonly incarnation: string;
}

/** How what happened reaches the job that owned the node when it happened. */
type Tell = (jobs: OwningJobs, jobId: string) => void;

/**
 * Whose each node is (Push Jobs §5.5): what nodes do and what jobs ask for steps the node's machine. One event at a time
 * runs to its end: the machine steps, the new owner is in memory, the row is handed to the store, then the job hears of
 * it; the abort of a node that entered rehab leaves when the row is durable. A job may call back (claim, release) while
 * it is told: it sees the owner after the step.
 */
export class Ownership implements NodeOwners, NodeListener {
  readonly #deps: OwnershipDeps;
  readonly #log: BoundedLog;
  readonly #metrics: OwnershipMetrics;
  readonly #rehab: Rehab;
  readonly #rehabIntervalMs: number;
  readonly #owned = new Map<NodeView, OwnedNode>();
  /** Nodes that unfinished jobs took back, until the sockets are open. */
  readonly #readopted = new Set<OwnedNode>();
  /** They were up when the server before this one ended, and have not come back to this one. */
  readonly #awaited = new Set<OwnedNode>();
  #awaitedUntil = 0;
  #jobs: OwningJobs | null = null;
  #timers: readonly Timer[] = [];

  constructor(deps: OwnershipDeps) {
    const { nodes, clock, logger, metrics, config } = deps;
    this.#deps = deps;
    this.#log = new BoundedLog(logger, clock);
    this.#metrics = createOwnershipMetrics(metrics);
    this.#rehabIntervalMs = config.command.rehab_interval * 1000;
    this.#rehab = new Rehab({ clock, nodes, intervalMs: this.#rehabIntervalMs });
    nodes.show(ownerAspect((node) => this.owned(node)));
    nodes.listen(this);
  }

  // --- what push jobs ask for (NodeOwners)

  ownerOf(orgId: string, name: string): Owner | undefined {
    return this.#find(orgId, name)?.owner;
  }

  claim(orgId: string, jobId: string, names: readonly string[], wait = false): ReadonlyMap<string, ClaimResult> {
    const results = new Map<string, ClaimResult>();
    for (const name of names) {
      const owned = this.#find(orgId, name);
      const claim = this.#claim(owned, jobId);
      results.set(name, wait && owned !== undefined ? queued(owned, jobId, claim) : claim);
    }
    return results;
  }

  placeOf(orgId: string, jobId: string, name: string): number {
    return (this.#find(orgId, name)?.waiting.indexOf(jobId) ?? -1) + 1;
  }

  #claim(owned: OwnedNode | undefined, jobId: string): ClaimResult {
    if (owned === undefined) return { kind: 'unknown' };
    const { owner } = owned;
    switch (owner.kind) {
      case 'down':
      case 'rehab':
        return { kind: owner.kind };
      case 'job':
        return { kind: 'busy', jobId: owner.jobId };
      case 'idle':
        this.#step(owned, { type: 'claim', jobId });
        return { kind: 'claimed' };
    }
  }

  readopt(orgId: string, jobId: string, name: string): void {
    const owned = this.#find(orgId, name);
    if (owned === undefined) return;
    this.#step(owned, { type: 'readopt', jobId });
    if (owned.owner.kind === 'job' && owned.owner.jobId === jobId) this.#readopted.add(owned);
  }

  release(orgId: string, jobId: string, name: string, to: 'idle' | 'rehab', reason: string): void {
    const owned = this.#find(orgId, name);
    if (owned === undefined) return;
    if (owned.waiting.length > 0) owned.waiting = owned.waiting.filter((waiting) => waiting !== jobId);
    this.#step(owned, { type: 'release', jobId, to, reason });
  }

  attach(jobs: OwningJobs): void {
    this.#jobs = jobs;
  }

  // --- life cycle

  /** After the nodes were loaded, before the jobs are. */
  async load(): Promise<void> {
    const { store, nodes } = this.#deps;
    for (const owned of await loadOwners(store, nodes.all())) this.#owned.set(owned.node, owned);
  }

  /** After the jobs were loaded: every up node that none of them took back goes to rehab (§5.5.1, §5.5.4). */
  opened(): void {
    for (const owned of this.#owned.values()) {
      if (!this.#readopted.has(owned)) this.#step(owned, { type: 'loaded', untouched: owned.untouched });
      if (owned.owner.kind === 'rehab') this.#awaited.add(owned);
    }
    this.#readopted.clear();
    const { clock, config } = this.#deps;
    this.#awaitedUntil = clock.monotonic() + AWAITED_MS;
    this.#timers = [
      every(clock, this.#rehabIntervalMs, () => this.#rehab.round()),
      every(clock, config.heartbeat.interval * 1000, () => this.#check()),
    ];
  }

  /** The server has started a moment ago, and nodes that were up before are still on their way back to it. */
  get awaitsNodes(): boolean {
    for (const owned of this.#awaited) if (owned.owner.kind !== 'rehab') this.#awaited.delete(owned);
    return this.#awaited.size > 0 && this.#deps.clock.monotonic() < this.#awaitedUntil;
  }

  /** After the last message: this server gives nobody anything to do any more. */
  async closed(): Promise<void> {
    const { store, incarnation, logger } = this.#deps;
    for (const timer of this.#timers) timer.cancel();
    try {
      await store.transact((trx) => leaveIdle(trx, incarnation));
    } catch (error) {
      logger.warn({ err: error }, 'it could not be stored which nodes are idle: the next start resets all of them');
    }
  }

  // --- what nodes do (NodeListener)

  up(node: NodeView): void {
    this.#step(this.owned(node), { type: 'up' });
  }

  down(node: NodeView): void {
    this.#step(this.owned(node), { type: 'down' }, (jobs, jobId) => jobs.down(jobId, node.name));
  }

  restarted(node: NodeView, end: RestartEnd): void {
    this.#step(this.owned(node), { type: 'restarted', end }, (jobs, jobId) => jobs.restarted(jobId, node.name, end));
  }

  heartbeat(node: NodeView, report: NodeReport): void {
    const owned = this.owned(node);
    const { state, jobId } = report;
    const jobLive = jobId !== null && owned.owner.kind === 'idle' && this.#isLive(jobId);
    this.#step(owned, { type: 'heartbeat', state, jobId, jobLive }, (jobs, owner) =>
      jobs.heartbeat(owner, node.name, report),
    );
  }

  message(node: NodeView, message: NodeMessage): void {
    if (isTaskReport(message) || message.type === 'commands') return;
    const owned = this.owned(node);
    if (message.type === 'ready' && message.start !== null && owned.owner.kind === 'job') {
      // It has just started, and so has lost whatever it was doing, also under the same incarnation (N11).
      this.restarted(node, message.start === 'first' ? 'reinstalled' : message.start);
      return;
    }
    const leftover = this.#rehab.answered(owned, message);
    this.#step(owned, { type: 'message', message, leftover }, (jobs, owner) => jobs.message(owner, node.name, message));
  }

  reconnected(node: NodeView): void {
    this.#rehab.reconnected(this.owned(node));
  }

  removing(node: NodeView, trx: Transaction<Schema>): Promise<void> {
    return deleteOwner(trx, node);
  }

  kept(node: NodeView): void {
    void this.#save(this.owned(node));
  }

  removed(node: NodeView): void {
    const owned = this.#owned.get(node);
    this.#owned.delete(node);
    if (owned !== undefined) this.#dismiss(owned);
  }

  // --- one step of the machine

  /** `tell` reaches the job when the machine says so. */
  #step(owned: OwnedNode, event: OwnershipEvent, tell?: Tell): void {
    const before = owned.owner;
    const { owner, effects } = stepOwnership(before, event, this.#deps.clock.now());
    let stored: Promise<boolean> | null = null;
    if (owner !== before) {
      owned.owner = owner;
      owned.since = this.#deps.clock.now();
      this.#rehab.changed(owned);
      const { node } = owned;
      this.#deps.logger.debug(
        { node: node.name, org: node.org.name, owner: owner.kind, reason: reasonOf(owned) },
        'node changed hands',
      );
      // `node.up` and `node.down` have told it, with whose the node is or was.
      const told = event.type === 'up' || event.type === 'down';
      stored = this.#save(owned, told ? null : before);
    }
    for (const effect of effects) this.#carryOut(owned, effect, stored, tell);
    if (owned.waiting.length > 0) this.#next(owned);
  }

  /** An idle node is the next one's in its queue; nobody waits for a node that is down. */
  #next(owned: OwnedNode): void {
    if (owned.owner.kind === 'down') this.#dismiss(owned);
    while (owned.owner.kind === 'idle') {
      const [jobId, ...others] = owned.waiting;
      if (jobId === undefined) return;
      owned.waiting = others;
      this.#jobs?.free(jobId, owned.node.name);
    }
  }

  #dismiss(owned: OwnedNode): void {
    const { waiting, node } = owned;
    owned.waiting = [];
    for (const jobId of waiting) this.#jobs?.down(jobId, node.name);
  }

  #save(owned: OwnedNode, before: Owner | null = null): Promise<boolean> {
    const event = before === null ? null : ownerEvent(owned, before);
    const row = saveOwner(owned, this.#deps.incarnation);
    return this.#deps.nodes.persist(owned.node, [row], event === null ? [] : [event]);
  }

  #carryOut(owned: OwnedNode, effect: OwnershipEffect, stored: Promise<boolean> | null, tell?: Tell): void {
    const { name, org } = owned.node;
    switch (effect.do) {
      case 'abort':
        if (stored !== null) this.#rehab.begin(owned, stored);
        return;
      case 'tell':
        if (this.#jobs !== null) tell?.(this.#jobs, effect.jobId);
        return;
      case 'drop':
        this.#log.info(`ignored: ${effect.why}`, { node: name, why: effect.why }, 'ignored a message');
        return;
      case 'violation':
        this.#metrics.violation();
        this.#log.warn('violation', { node: name, org: org.name, what: effect.what }, 'invariant broken');
        return;
    }
  }

  /** The invariant of §5.5.3, and its repair. */
  #check(): void {
    for (const owned of this.#owned.values()) {
      const { owner, node } = owned;
      const jobLive = owner.kind !== 'job' || this.#isLive(owner.jobId);
      this.#step(owned, { type: 'check', status: node.status, jobLive });
    }
  }

  #isLive(jobId: string): boolean {
    return this.#jobs?.isLive(jobId) ?? false;
  }

  #find(orgId: string, name: string): OwnedNode | undefined {
    const node = this.#deps.nodes.get(orgId, name);
    return node === undefined ? undefined : this.owned(node);
  }

  /** A node that was made known since the start is nobody's until it is up. */
  owned(node: NodeView): OwnedNode {
    let owned = this.#owned.get(node);
    if (owned === undefined) {
      owned = new OwnedNode(node);
      this.#owned.set(node, owned);
    }
    return owned;
  }
}

/** What a job gets that would rather wait than be refused. */
function queued(owned: OwnedNode, jobId: string, claim: ClaimResult): ClaimResult {
  if (claim.kind !== 'busy' && claim.kind !== 'rehab') return claim;
  if (owned.waiting.length >= MAX_WAITING_JOBS) return claim;
  if (!owned.waiting.includes(jobId)) owned.waiting = [...owned.waiting, jobId];
  // Which job has it changes while it is waited for, and what is stored does not.
  return { kind: 'queued', reason: claim.kind === 'busy' ? 'busy with another job' : 'in rehab' };
}
