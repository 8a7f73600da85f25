import type { Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import type { Store, Write } from '@muster/store';
import type { AgentMessage, ServerMessage } from '@muster/wire';
import type { Dispatch } from './dispatch.js';
import { MusterError } from './errors.js';
import { created, factsChanged, factsDiffer, keyChanged, protocolChanged, removed, restarted } from './events.js';
import { factChanges } from './fact-changes.js';
import { KnownNode } from './known-node.js';
import { neverHeard, returnMs, stepLiveness } from './machine.js';
import type { VerifiedMessage } from './ports.js';
import { deleteNode, loadNodes, saveNode } from './repository.js';
import type { Roster } from './roster.js';
import { Transitions, type TransitionsDeps } from './transitions.js';
import type { Attributes, NodeAspect, NodeListener, NodeRegistry, NodeView, RestartEnd } from './types.js';

export interface ControllerDeps extends TransitionsDeps {
  readonly store: Store;
  readonly roster: Roster;
  readonly dispatch: Dispatch;
  /** A node left the registry: nothing may reach it, or be heard of it, any more. */
  readonly forget: (node: KnownNode) => void;
}

/** What messages, time and administrators do to the nodes, and what layers above ask of them. */
export class NodeController implements NodeRegistry {
  readonly #deps: ControllerDeps;
  readonly #transitions: Transitions;

  constructor(deps: ControllerDeps) {
    this.#deps = deps;
    this.#transitions = new Transitions(deps);
  }

  // --- what layers above ask for (NodeRegistry)

  get(orgId: string, name: string): KnownNode | undefined {
    return this.#deps.roster.get(orgId, name);
  }

  list(orgId: string): readonly KnownNode[] {
    return this.#deps.roster.list(orgId);
  }

  all(): Iterable<KnownNode> {
    return this.#deps.roster;
  }

  attributes(node: NodeView): Attributes {
    return {
      ...node.facts,
      ...node.labels,
      ...(node.dialect !== null && { dialect: node.dialect }),
      name: node.name,
      status: node.status,
      via: node.via,
      ...this.#deps.aspects.attributes(node),
    };
  }

  send(orgId: string, names: readonly string[], message: ServerMessage): void {
    const nodes: KnownNode[] = [];
    for (const name of names) {
      const node = this.get(orgId, name);
      if (node !== undefined) nodes.push(node);
    }
    this.#deps.dispatch.send(nodes, message);
  }

  reach(nodes: readonly NodeView[], message: ServerMessage): readonly NodeView[] {
    const { dispatch } = this.#deps;
    const reached: KnownNode[] = [];
    for (const { org, name } of nodes) {
      const node = this.get(org.id, name);
      if (node !== undefined && dispatch.reaches(node)) reached.push(node);
    }
    dispatch.send(reached, message);
    return reached;
  }

  persist(view: NodeView, writes: readonly Write[], events: readonly Recordable[]): Promise<boolean> {
    const node = this.get(view.org.id, view.name);
    if (node === undefined || node !== view) return Promise.resolve(false);
    return this.#transitions.persist(node, writes, events);
  }

  listen(listener: Partial<NodeListener>): void {
    this.#transitions.listeners.push(listener);
  }

  show(aspect: NodeAspect): void {
    this.#deps.aspects.add(aspect);
  }

  // --- life cycle

  async load(): Promise<void> {
    for (const node of await loadNodes(this.#deps.store, this.#deps.clock.now())) this.#deps.roster.add(node);
  }

  /** The sockets are open. What was heard before says nothing about now. */
  opened(): void {
    // Silence counts from when a node can have found its way back.
    const heardAt = this.#deps.clock.now() + returnMs(this.#deps.rules);
    for (const node of this.#deps.roster) {
      if (node.liveness.status === 'up') node.liveness = { status: 'up', heardAt };
    }
    this.#transitions.tell((listener) => listener.opened?.());
  }

  /** After the last message. */
  async closed(): Promise<void> {
    for (const listener of this.#transitions.listeners) await listener.closed?.();
  }

  // --- what nodes send

  /** A message that verified. `reconnected`: over a connection that was not known to be this node's. */
  verified({ node, dialect, envelope, message }: VerifiedMessage, reconnected: boolean): void {
    if (reconnected) this.#deps.dispatch.send([node], { type: 'welcome' });
    if (node.dialect !== dialect) {
      node.dialect = dialect;
      void this.#transitions.save(node, protocolChanged(node));
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
      case 'stopping':
        node.stoppedAt = this.#deps.clock.now();
        this.#transitions.live(node, stepLiveness(node.liveness, message, this.#deps.rules));
        break;
      default:
        this.#transitions.tell((listener) => listener.message?.(node, message));
    }
    if (reconnected) this.#transitions.tell((listener) => listener.reconnected?.(node));
  }

  #heartbeat(node: KnownNode, message: Extract<AgentMessage, { type: 'heartbeat' }>): void {
    const at = this.#deps.clock.now();
    node.heardAt = at;
    node.stoppedAt = null;
    node.state = message.state;
    this.#transitions.live(node, stepLiveness(node.liveness, { type: 'heartbeat', at }, this.#deps.rules));
    this.#transitions.tell((listener) => listener.heartbeat?.(node, message));
  }

  /** An agent tells how it ended also when it starts under the same incarnation (N11). */
  #ready(node: KnownNode, message: Extract<AgentMessage, { type: 'ready' }>): void {
    const { start } = message;
    const ended = start === 'clean' || start === 'crash';
    if (ended && node.lastEnd !== start && node.lastEnd !== 'reinstalled') {
      node.lastEnd = start;
      void this.#transitions.save(node, restarted(node));
    }
    this.#transitions.tell((listener) => listener.message?.(node, message));
  }

  #facts(node: KnownNode, message: Extract<AgentMessage, { type: 'facts' }>): void {
    const same = JSON.stringify([node.facts, node.labels]) === JSON.stringify([message.facts, message.labels]);
    if (same) return;
    const known = Object.keys(node.facts).length > 0;
    const differ = factChanges(node, message);
    node.facts = message.facts;
    node.labels = message.labels;
    const history = known && differ.changes.length > 0 ? [factsDiffer(node, differ)] : [];
    void this.#transitions.persist(node, [saveNode(node)], [factsChanged(node), ...history]);
  }

  #compareIncarnation(node: KnownNode, incarnation: string | null, message: AgentMessage): void {
    if (incarnation === null || incarnation === node.incarnation) return;
    const first = node.incarnation === null;
    node.incarnation = incarnation;
    if (!first) {
      const clean = message.type === 'ready' && message.start === 'clean';
      const end: RestartEnd = node.reinstalled ? 'reinstalled' : clean ? 'clean' : 'crash';
      node.lastEnd = end;
      this.#transitions.tell((listener) => listener.restarted?.(node, end));
    }
    node.reinstalled = false;
    void this.#transitions.save(node, restarted(node));
  }

  // --- time

  /** Judges every node that is up by the time since it was heard (§4.4). */
  sweep(): void {
    const at = this.#deps.clock.now();
    for (const node of this.#deps.roster) {
      if (node.liveness.status !== 'up') continue;
      this.#transitions.live(node, stepLiveness(node.liveness, { type: 'sweep', at }, this.#deps.rules));
    }
  }

  // --- administration

  /** It has no key any more: waiting for its silence would only keep it in jobs that it cannot do. */
  keyless(node: KnownNode): void {
    this.#transitions.live(node, neverHeard, 'it has no key');
  }

  /** One without an agent, whose host turned the server away: the same. */
  unreached(node: KnownNode): void {
    this.#transitions.live(node, neverHeard, 'its host is not reached');
  }

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

  /** @throws MusterError `not_found`, and, unless `force`, what layers above have against it. */
  assertRemovable(orgId: string, name: string, force: boolean): void {
    const node = this.get(orgId, name);
    if (node === undefined) throw new MusterError('not_found', { kind: 'node', name });
    if (!force) this.#deps.aspects.assertRemovable(node);
  }

  /** Deletes a node, if it is there; listeners learn that it is down first. @throws MusterError `store_unavailable`. */
  async remove(orgId: string, name: string): Promise<void> {
    const node = this.get(orgId, name);
    if (node === undefined) return;
    // A row that is stored from here on would bring it back.
    node.removed = true;
    try {
      await this.#deps.recorder.transact(async (trx, record) => {
        for (const listener of this.#transitions.listeners) await listener.removing?.(node, trx);
        await deleteNode(trx, node);
        record([removed(node)]);
      });
    } catch (error) {
      node.removed = false;
      void this.#transitions.save(node, null);
      this.#transitions.tell((listener) => listener.kept?.(node));
      throw error;
    }
    this.#transitions.live(node, neverHeard);
    this.#deps.forget(node);
    this.#deps.roster.remove(node);
    this.#transitions.tell((listener) => listener.removed?.(node));
  }
}
