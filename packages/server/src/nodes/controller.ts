import type { Store, Write } from '@muster/store';
import { type AgentMessage, type Clock, dialects, MusterError, type ServerMessage } from '@muster/wire';
import type { Organization } from '../auth/types.js';
import { isAvailable } from './availability.js';
import type { BoundedLog } from './bounded-log.js';
import type { Dispatch } from './dispatch.js';
import { KnownNode } from './known-node.js';
import {
  type Liveness,
  type LivenessRules,
  neverHeard,
  type OwnershipEffect,
  type OwnershipEvent,
  type RestartEnd,
  stepLiveness,
  stepOwnership,
} from './machine.js';
import type { NodeMetrics } from './metrics.js';
import type { NodeLog, VerifiedMessage } from './ports.js';
import { deleteNode, loadNodes, saveNode } from './repository.js';
import type { Roster } from './roster.js';
import type { ClaimResult, JobPort, NodeRegistry, NodeView, Owner } from './types.js';

export interface ControllerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: BoundedLog;
  readonly logger: NodeLog;
  readonly metrics: NodeMetrics;
  readonly roster: Roster;
  readonly dispatch: Dispatch;
  readonly rules: LivenessRules;
  readonly rehabIntervalMs: number;
  /** Incarnation of this server process, written into the rows. */
  readonly incarnation: string;
  /** A node left the registry: nothing may reach it, or be heard of it, any more. */
  readonly forget: (node: KnownNode) => void;
}

/**
 * A node that lost the server hears its heartbeat again, waits its splay (sheet §5.5), and has to hear it for
 * `online_threshold` intervals before it may send (Push Jobs §4.3). Without this time every node of a running job
 * would be down, and crashed, after an outage longer than the node's own offline threshold (N10).
 */
const RETURN_INTERVALS = 2;

/** How what happened reaches the job that owned the node when it happened. */
type Tell = (port: JobPort, jobId: string) => void;

/**
 * The mailbox of every node. One event at a time runs to its end: the machines step, the new state is in memory, the
 * row is handed to the store, then the job hears of it; the abort of a node that entered rehab leaves when the row is
 * durable. A job may call back (claim, release, send) while it is told: it sees the state after the step.
 */
export class NodeController implements NodeRegistry {
  readonly #deps: ControllerDeps;
  readonly #inRehab = new Set<KnownNode>();
  /** Nodes that unfinished jobs took back, until the server has started. */
  readonly #readopted = new Set<KnownNode>();
  #port: JobPort | null = null;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
  }

  // --- what push jobs ask for (NodeRegistry)

  get(orgId: string, name: string): KnownNode | undefined {
    return this.#deps.roster.get(orgId, name);
  }

  list(orgId: string): readonly KnownNode[] {
    return this.#deps.roster.list(orgId);
  }

  attributes(node: NodeView): Readonly<Record<string, string | number | boolean>> {
    return {
      ...node.facts,
      ...node.labels,
      ...(node.dialect !== null && { dialect: node.dialect }),
      name: node.name,
      status: node.status,
      availability: isAvailable(node) ? 'available' : 'unavailable',
    };
  }

  claim(orgId: string, jobId: string, names: readonly string[]): ReadonlyMap<string, ClaimResult> {
    const results = new Map<string, ClaimResult>();
    for (const name of names) {
      const node = this.get(orgId, name);
      if (node === undefined) {
        results.set(name, { kind: 'unknown' });
        continue;
      }
      const { owner } = node;
      switch (owner.kind) {
        case 'down':
        case 'rehab':
          results.set(name, { kind: owner.kind });
          break;
        case 'job':
          results.set(name, { kind: 'busy', jobId: owner.jobId });
          break;
        case 'idle':
          this.#own(node, { type: 'claim', jobId });
          results.set(name, { kind: 'claimed', incarnation: node.incarnation });
          break;
      }
    }
    return results;
  }

  readopt(orgId: string, jobId: string, name: string): void {
    const node = this.get(orgId, name);
    if (node === undefined) return;
    this.#own(node, { type: 'readopt', jobId });
    if (node.owner.kind === 'job') this.#readopted.add(node);
  }

  release(orgId: string, jobId: string, name: string, to: 'idle' | 'rehab', reason: string): void {
    const node = this.get(orgId, name);
    if (node !== undefined) this.#own(node, { type: 'release', jobId, to, reason });
  }

  send(orgId: string, names: readonly string[], message: ServerMessage): void {
    const nodes: KnownNode[] = [];
    for (const name of names) {
      const node = this.get(orgId, name);
      if (node !== undefined) nodes.push(node);
    }
    this.#deps.dispatch.send(nodes, message);
  }

  attach(port: JobPort): void {
    this.#port = port;
  }

  // --- life cycle

  async load(): Promise<void> {
    for (const node of await loadNodes(this.#deps.store, this.#deps.clock.now())) this.#deps.roster.add(node);
  }

  /** After the jobs were loaded: every up node that none of them took back goes to rehab (§5.5.1, §5.5.4). */
  begin(): void {
    const { intervalMs, onlineThreshold } = this.#deps.rules;
    const returnMs = (RETURN_INTERVALS + onlineThreshold) * intervalMs;
    for (const node of this.#deps.roster) {
      if (!this.#readopted.has(node)) this.#own(node, { type: 'loaded' });
      // What was heard before says nothing about now; silence counts from when the node can have found its way back.
      if (node.liveness.status === 'up') node.liveness = { status: 'up', heardAt: this.#deps.clock.now() + returnMs };
    }
    this.#readopted.clear();
  }

  // --- what nodes send

  /** A message that verified. `reconnected`: over a connection that was not known to be this node's. */
  verified({ node, dialect, envelope, message }: VerifiedMessage, reconnected: boolean): void {
    if (reconnected) {
      node.unansweredAborts = 0;
      this.#deps.dispatch.send([node], { type: 'welcome' });
    }
    if (node.dialect !== dialect) {
      node.dialect = dialect;
      this.#save(node);
    }
    this.#compareIncarnation(node, envelope.incarnation, message);
    switch (message.type) {
      case 'heartbeat':
        this.#heartbeat(node, message);
        break;
      case 'facts':
        this.#facts(node, message);
        break;
      case 'ready':
        this.#ready(node, message);
        break;
      default:
        this.#message(node, message);
    }
  }

  #heartbeat(node: KnownNode, message: Extract<AgentMessage, { type: 'heartbeat' }>): void {
    const at = this.#deps.clock.now();
    node.heardAt = at;
    node.state = message.state;
    this.#live(node, stepLiveness(node.liveness, { type: 'heartbeat', at }, this.#deps.rules));
    const { jobId, state, last } = message;
    const jobLive = jobId !== null && node.owner.kind === 'idle' && this.#isLive(jobId);
    const repeatable = node.dialect !== null && dialects[node.dialect].repeatable;
    this.#own(node, { type: 'heartbeat', state, jobId, jobLive }, (port, owner) =>
      port.heartbeat(owner, node.name, { state, jobId, last }, repeatable),
    );
  }

  #message(node: KnownNode, message: Exclude<AgentMessage, { type: 'heartbeat' }>): void {
    let leftover = false;
    if (message.type === 'aborted' && node.unansweredAborts > 0) {
      node.unansweredAborts -= 1;
      leftover = message.jobId === null;
    }
    this.#own(node, { type: 'message', message, leftover }, (port, owner) => port.message(owner, node.name, message));
  }

  /** An agent that says it has just started has lost whatever it was doing, also under the same incarnation (N11). */
  #ready(node: KnownNode, message: Extract<AgentMessage, { type: 'ready' }>): void {
    const end = message.start === 'clean' || message.start === 'crash' ? message.start : null;
    if (end !== null && node.lastEnd !== end && node.lastEnd !== 'reinstalled') {
      node.lastEnd = end;
      this.#save(node);
    }
    if (message.start !== null && node.owner.kind === 'job') this.#restarted(node, end ?? 'reinstalled');
    else this.#message(node, message);
  }

  /** Facts are the node's own and no business of its owner, so they count in every state. */
  #facts(node: KnownNode, message: Extract<AgentMessage, { type: 'facts' }>): void {
    const same = JSON.stringify([node.facts, node.labels]) === JSON.stringify([message.facts, message.labels]);
    if (same) return;
    node.facts = message.facts;
    node.labels = message.labels;
    this.#save(node);
  }

  #compareIncarnation(node: KnownNode, incarnation: string | null, message: AgentMessage): void {
    if (incarnation === null || incarnation === node.incarnation) return;
    const first = node.incarnation === null;
    node.incarnation = incarnation;
    if (!first) {
      const clean = message.type === 'ready' && message.start === 'clean';
      const end: RestartEnd = node.reinstalled ? 'reinstalled' : clean ? 'clean' : 'crash';
      node.lastEnd = end;
      this.#restarted(node, end);
    }
    node.reinstalled = false;
    this.#save(node);
  }

  #restarted(node: KnownNode, end: RestartEnd): void {
    this.#own(node, { type: 'restarted', end }, (port, owner) => port.restarted(owner, node.name, end));
  }

  // --- rounds, driven by timers

  /** Judges every node that is up by the time since it was heard (§4.4). */
  sweep(): void {
    const at = this.#deps.clock.now();
    for (const node of this.#deps.roster) {
      if (node.liveness.status !== 'up') continue;
      this.#live(node, stepLiveness(node.liveness, { type: 'sweep', at }, this.#deps.rules));
    }
  }

  /** Aborts everybody in rehab again (§5.5.3). */
  rehabRound(): void {
    const due: KnownNode[] = [];
    const latest = this.#deps.clock.now() - this.#deps.rehabIntervalMs / 2;
    for (const node of this.#inRehab) {
      if (node.abortedAt > latest) continue;
      const { effects } = stepOwnership(node.owner, { type: 'rehab_tick' }, latest);
      if (effects.some((effect) => effect.do === 'abort')) due.push(node);
    }
    this.#abort(due);
  }

  /** The invariant of §5.5.3, and its repair. */
  checkOwners(): void {
    for (const node of this.#deps.roster) {
      const jobLive = node.owner.kind !== 'job' || this.#isLive(node.owner.jobId);
      this.#own(node, { type: 'check', status: node.status, jobLive });
    }
  }

  // --- administration

  /** The node, which is made known when it is not yet. */
  known(org: Organization, name: string): KnownNode {
    const existing = this.get(org.id, name);
    if (existing !== undefined) return existing;
    const node = new KnownNode(org, name, this.#deps.clock.now());
    this.#deps.roster.add(node);
    this.#save(node);
    return node;
  }

  /** A verified configuration request, by the holder of this key. */
  configured(node: KnownNode, fingerprint: string): void {
    if (node.keyFingerprint !== fingerprint) {
      node.reinstalled = node.keyFingerprint !== null;
      node.keyFingerprint = fingerprint;
      this.#save(node);
    }
    node.diagnostics.configuredAt = this.#deps.clock.now();
    node.liveness = stepLiveness(node.liveness, { type: 'configured' }, this.#deps.rules);
  }

  /** @throws MusterError `not_found`, and `node_busy` unless `force`. */
  assertRemovable(orgId: string, name: string, force: boolean): void {
    const node = this.get(orgId, name);
    if (node === undefined) throw new MusterError('not_found', { kind: 'node', name });
    if (node.owner.kind === 'job' && !force) throw new MusterError('node_busy', { name, job: node.owner.jobId });
  }

  /** Deletes a node, if it is there; a job that owns it learns that it is down. @throws MusterError `store_unavailable`. */
  async remove(orgId: string, name: string): Promise<void> {
    const node = this.get(orgId, name);
    if (node === undefined) return;
    this.#live(node, neverHeard);
    node.removed = true;
    this.#deps.forget(node);
    this.#deps.roster.remove(node);
    await deleteNode(this.#deps.store, node);
  }

  // --- one step of a mailbox

  #live(node: KnownNode, next: Liveness): void {
    const before = node.liveness;
    node.liveness = next;
    if (next.status === before.status) return;
    node.statusAt = this.#deps.clock.now();
    this.#deps.log.info(`is ${next.status}`, { node: node.name, org: node.org.name }, `node is ${next.status}`);
    if (next.status === 'down') {
      node.state = null;
      this.#own(node, { type: 'down' }, (port, jobId) => port.down(jobId, node.name));
    } else {
      this.#own(node, { type: 'up' });
    }
  }

  #own(node: KnownNode, event: OwnershipEvent, tell?: Tell): void {
    const { owner, effects } = stepOwnership(node.owner, event, this.#deps.clock.now());
    let stored: Promise<boolean> | null = null;
    if (owner !== node.owner) {
      this.#enter(node, owner);
      stored = this.#save(node);
    }
    for (const effect of effects) this.#carryOut(node, effect, stored, tell);
  }

  #enter(node: KnownNode, owner: Owner): void {
    node.owner = owner;
    node.ownerAt = this.#deps.clock.now();
    node.reason = this.#reason(owner);
    if (owner.kind === 'rehab') {
      this.#inRehab.add(node);
      node.abortedAt = node.ownerAt;
    } else {
      this.#inRehab.delete(node);
    }
    this.#deps.logger.debug(
      { node: node.name, org: node.org.name, owner: owner.kind, reason: node.reason },
      'node changed hands',
    );
  }

  #carryOut(node: KnownNode, effect: OwnershipEffect, stored: Promise<boolean> | null, tell?: Tell): void {
    switch (effect.do) {
      case 'abort': {
        const { owner } = node;
        // Saved, then sent; by then something else may have happened to the node.
        void stored?.then((durable) => {
          if (durable && node.owner === owner) this.#abort([node]);
        });
        return;
      }
      case 'tell':
        if (this.#port !== null) tell?.(this.#port, effect.jobId);
        return;
      case 'drop':
        this.#deps.log.info(`ignored: ${effect.why}`, { node: node.name, why: effect.why }, 'ignored a message');
        return;
      case 'violation':
        this.#deps.metrics.violation();
        this.#deps.log.warn(
          'violation',
          { node: node.name, org: node.org.name, what: effect.what },
          'invariant broken',
        );
        return;
    }
  }

  #abort(nodes: readonly KnownNode[]): void {
    const at = this.#deps.clock.now();
    const reached = nodes.filter((node) => this.#deps.dispatch.reaches(node));
    for (const node of reached) {
      node.abortedAt = at;
      node.unansweredAborts += 1;
    }
    this.#deps.dispatch.send(reached, { type: 'abort' });
  }

  /** False when the row will never be stored: the store was closed, or the node removed. */
  async #save(node: KnownNode): Promise<boolean> {
    if (node.removed) return false;
    const write: Write = saveNode(node, this.#deps.incarnation);
    try {
      await this.#deps.store.persist([write]);
      return true;
    } catch (error) {
      this.#deps.log.warn('store', { err: error, node: node.name }, 'a node could not be stored');
      return false;
    }
  }

  #reason(owner: Owner): string {
    switch (owner.kind) {
      case 'down':
        return `no heartbeat for ${this.#deps.rules.offlineThreshold} intervals`;
      case 'rehab':
        return owner.reason;
      case 'idle':
        return 'ready for a job';
      case 'job':
        return `busy with job ${owner.jobId}`;
    }
  }

  #isLive(jobId: string): boolean {
    return this.#port?.isLive(jobId) ?? false;
  }
}
