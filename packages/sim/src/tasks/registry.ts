import type { Attributes, NodeListener, NodeRegistry, NodeView } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import type { AgentMessage, ServerMessage } from '@muster/wire';
import type { Process } from '../kernel/timeline.js';

type View = { -readonly [K in keyof NodeView]: NodeView[K] };

export const INTERVAL_MS = 1000;
const OFFLINE_MS = 3 * INTERVAL_MS;

/** The nodes as one life of a server knows them: who is up is judged by heartbeats. */
export class SimulatedRegistry implements NodeRegistry {
  readonly #org: Organization;
  readonly #process: Process;
  readonly #views = new Map<string, View>();
  readonly #listeners: Partial<NodeListener>[] = [];
  readonly #send: (node: string, message: ServerMessage) => void;

  /** @param known Names, and under which incarnation they were last heard. */
  constructor(
    org: Organization,
    process: Process,
    known: ReadonlyMap<string, string | null>,
    send: (node: string, message: ServerMessage) => void,
  ) {
    this.#org = org;
    this.#process = process;
    this.#send = send;
    for (const [name, incarnation] of known) {
      this.#views.set(name, {
        org,
        name,
        createdAt: 0,
        via: 'agent',
        // As it was when the last life ended; silence counts from when nodes can have found their way back.
        status: incarnation === null ? 'down' : 'up',
        statusAt: 0,
        reason: '',
        incarnation,
        lastEnd: null,
        dialect: 'native',
        facts: {},
        labels: {},
        heardAt: process.clock.now() + OFFLINE_MS,
        stoppedAt: null,
        state: null,
        peer: null,
      });
    }
  }

  start(): void {
    this.#tell((listener) => listener.opened?.());
    const sweep = (): void => {
      for (const view of this.#views.values()) {
        const silent = this.#process.clock.now() - (view.heardAt ?? 0) > OFFLINE_MS;
        if (view.status === 'up' && silent) this.#down(view, 'no heartbeat');
      }
      this.#process.clock.after(INTERVAL_MS / 4, sweep);
    };
    sweep();
  }

  /** Which incarnation of each it knows, for the next life. */
  get known(): ReadonlyMap<string, string | null> {
    return new Map([...this.#views].map(([name, { incarnation }]) => [name, incarnation]));
  }

  received(name: string, incarnation: string, message: AgentMessage): void {
    const view = this.#views.get(name);
    if (view === undefined) return;
    view.heardAt = this.#process.clock.now();
    if (view.incarnation !== incarnation) {
      const first = view.incarnation === null;
      view.incarnation = incarnation;
      if (!first) this.#tell((listener) => listener.restarted?.(view, 'crash'));
    }
    switch (message.type) {
      case 'heartbeat':
        view.stoppedAt = null;
        if (view.status === 'down') {
          view.status = 'up';
          this.#tell((listener) => listener.up?.(view));
        }
        return;
      case 'stopping':
        view.stoppedAt = this.#process.clock.now();
        if (view.status === 'up') this.#down(view, 'its agent was stopped');
        return;
      case 'facts':
      case 'commands':
        return;
      default:
        this.#tell((listener) => listener.message?.(view, message));
    }
  }

  #down(view: View, reason: string): void {
    view.status = 'down';
    view.reason = reason;
    this.#tell((listener) => listener.down?.(view));
  }

  #tell(about: (listener: Partial<NodeListener>) => void): void {
    for (const listener of this.#listeners) about(listener);
  }

  get(orgId: string, name: string): NodeView | undefined {
    return orgId === this.#org.id ? this.#views.get(name) : undefined;
  }

  list(): readonly NodeView[] {
    return [...this.#views.values()];
  }

  all(): Iterable<NodeView> {
    return this.#views.values();
  }

  attributes(node: NodeView): Attributes {
    return { name: node.name, status: node.status };
  }

  send(_orgId: string, names: readonly string[], message: ServerMessage): void {
    for (const name of names) this.#send(name, message);
  }

  reach(): readonly NodeView[] {
    return [];
  }

  async persist(): Promise<boolean> {
    return true;
  }

  listen(listener: Partial<NodeListener>): void {
    this.#listeners.push(listener);
  }

  show(): void {
    // Nobody looks at nodes here.
  }
}
