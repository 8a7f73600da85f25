import type { Organization } from '@muster/platform/auth';
import type { Store } from '@muster/store';
import type { AgentMessage, ServerMessage } from '@muster/wire';
import { isAvailable } from './availability.js';
import { MusterError } from './errors.js';
import { created, factsChanged, keyChanged, protocolChanged, removed, restarted } from './events.js';
import { KnownNode } from './known-node.js';
import { neverHeard, type RestartEnd, returnMs, stepLiveness } from './machine.js';
import type { VerifiedMessage } from './ports.js';
import { deleteNode, leaveIdle, loadNodes } from './repository.js';
import { Transitions, type TransitionsDeps } from './transitions.js';
import type { ClaimResult, NodeRegistry, NodeView, PushPort } from './types.js';

export interface ControllerDeps extends TransitionsDeps {
  readonly store: Store;
  /** A node left the registry: nothing may reach it, or be heard of it, any more. */
  readonly forget: (node: KnownNode) => void;
}

/** What jobs, messages, time and administrators want of the nodes; every change of owner goes through `Transitions`. */
export class NodeController implements NodeRegistry {
  readonly #deps: ControllerDeps;
  readonly #transitions: Transitions;
  /** Nodes that unfinished jobs took back, until the server has started. */
  readonly #readopted = new Set<KnownNode>();

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#transitions = new Transitions(deps);
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
          this.#transitions.own(node, { type: 'claim', jobId });
          results.set(name, { kind: 'claimed', incarnation: node.incarnation });
          break;
      }
    }
    return results;
  }

  readopt(orgId: string, jobId: string, name: string): void {
    const node = this.get(orgId, name);
    if (node === undefined) return;
    this.#transitions.own(node, { type: 'readopt', jobId });
    if (node.owner.kind === 'job' && node.owner.jobId === jobId) this.#readopted.add(node);
  }

  release(orgId: string, jobId: string, name: string, to: 'idle' | 'rehab', reason: string): void {
    const node = this.get(orgId, name);
    if (node !== undefined) this.#transitions.own(node, { type: 'release', jobId, to, reason });
  }

  send(orgId: string, names: readonly string[], message: ServerMessage): void {
    const nodes: KnownNode[] = [];
    for (const name of names) {
      const node = this.get(orgId, name);
      if (node !== undefined) nodes.push(node);
    }
    this.#deps.dispatch.send(nodes, message);
  }

  attach(port: PushPort): void {
    this.#transitions.attach(port);
  }

  // --- life cycle

  async load(): Promise<void> {
    for (const node of await loadNodes(this.#deps.store, this.#deps.clock.now())) this.#deps.roster.add(node);
  }

  /** After the jobs were loaded: every up node that none of them took back goes to rehab (§5.5.1, §5.5.4). */
  begin(): void {
    const heardAt = this.#deps.clock.now() + returnMs(this.#deps.rules);
    for (const node of this.#deps.roster) {
      if (!this.#readopted.has(node)) this.#transitions.own(node, { type: 'loaded', untouched: node.untouched });
      // What was heard before says nothing about now; silence counts from when the node can have found its way back.
      if (node.liveness.status === 'up') node.liveness = { status: 'up', heardAt };
    }
    this.#readopted.clear();
  }

  /** After the last message: this server gives nobody anything to do any more. */
  async end(): Promise<void> {
    const { store, incarnation, logger } = this.#deps;
    try {
      await store.transact((trx) => leaveIdle(trx, incarnation));
    } catch (error) {
      logger.warn({ err: error }, 'it could not be stored which nodes are idle: the next start resets all of them');
    }
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
      void this.#transitions.save(node, protocolChanged(node));
    }
    const before = node.owner;
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
      case 'stopping':
        node.stoppedAt = this.#deps.clock.now();
        this.#transitions.live(node, stepLiveness(node.liveness, message, this.#deps.rules));
        break;
      default:
        this.#message(node, message);
    }
    // Whatever rehab sent before did not reach it over this connection; it need not wait for the next round.
    if (reconnected && node.owner === before) this.#transitions.abortAgain(node);
  }

  #heartbeat(node: KnownNode, message: Extract<AgentMessage, { type: 'heartbeat' }>): void {
    const at = this.#deps.clock.now();
    node.heardAt = at;
    node.stoppedAt = null;
    node.state = message.state;
    this.#transitions.live(node, stepLiveness(node.liveness, { type: 'heartbeat', at }, this.#deps.rules));
    const { jobId, state, last } = message;
    const jobLive = jobId !== null && node.owner.kind === 'idle' && this.#transitions.isLive(jobId);
    this.#transitions.own(node, { type: 'heartbeat', state, jobId, jobLive }, (port, owner) =>
      port.heartbeat(owner, node.name, { state, jobId, last }),
    );
  }

  #message(node: KnownNode, message: Exclude<AgentMessage, { type: 'heartbeat' }>): void {
    let leftover = false;
    if (message.type === 'aborted' && node.unansweredAborts > 0) {
      node.unansweredAborts -= 1;
      leftover = message.jobId === null;
    }
    this.#transitions.own(node, { type: 'message', message, leftover }, (port, owner) =>
      port.message(owner, node.name, message),
    );
  }

  /** An agent that says it has just started has lost whatever it was doing, also under the same incarnation (N11). */
  #ready(node: KnownNode, message: Extract<AgentMessage, { type: 'ready' }>): void {
    const end = message.start === 'clean' || message.start === 'crash' ? message.start : null;
    if (end !== null && node.lastEnd !== end && node.lastEnd !== 'reinstalled') {
      node.lastEnd = end;
      void this.#transitions.save(node, restarted(node));
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
    void this.#transitions.save(node, factsChanged(node));
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
    void this.#transitions.save(node, restarted(node));
  }

  #restarted(node: KnownNode, end: RestartEnd): void {
    this.#transitions.own(node, { type: 'restarted', end }, (port, owner) => port.restarted(owner, node.name, end));
  }

  // --- rounds, driven by timers

  rehabRound(): void {
    this.#transitions.rehabRound();
  }

  checkOwners(): void {
    this.#transitions.checkOwners();
  }

  /** Judges every node that is up by the time since it was heard (§4.4). */
  sweep(): void {
    const at = this.#deps.clock.now();
    for (const node of this.#deps.roster) {
      if (node.liveness.status !== 'up') continue;
      this.#transitions.live(node, stepLiveness(node.liveness, { type: 'sweep', at }, this.#deps.rules));
    }
  }

  // --- administration

  /** The node, which is made known when it is not yet. */
  known(org: Organization, name: string): KnownNode {
    const existing = this.get(org.id, name);
    if (existing !== undefined) return existing;
    const node = new KnownNode(org, name, this.#deps.clock.now());
    this.#deps.roster.add(node);
    void this.#transitions.save(node, created(node));
    return node;
  }

  /** A verified configuration request, by the holder of this key. */
  configured(node: KnownNode, fingerprint: string): void {
    if (node.keyFingerprint !== fingerprint) {
      node.reinstalled = node.keyFingerprint !== null;
      node.keyFingerprint = fingerprint;
      void this.#transitions.save(node, keyChanged(node, fingerprint));
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
    // A row that is stored from here on would bring it back.
    node.removed = true;
    try {
      await this.#deps.recorder.transact(1, async (trx, record) => {
        await deleteNode(trx, node);
        record([removed(node)]);
      });
    } catch (error) {
      node.removed = false;
      void this.#transitions.save(node, null);
      throw error;
    }
    this.#transitions.live(node, neverHeard);
    this.#deps.forget(node);
    this.#deps.roster.remove(node);
  }
}
