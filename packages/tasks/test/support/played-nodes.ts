import type { Attributes, NodeListener, NodeRegistry, NodeView } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import type { AgentMessage, AssignedTask, ServerMessage, TaskNews, TaskRef, TaskResult } from '@muster/wire';

export const ORG: Organization = { id: 'c'.repeat(32), name: 'default' };

type View = { -readonly [K in keyof NodeView]: NodeView[K] };

/** An agent that takes tasks and does with them what the test says. */
export class PlayedNode {
  readonly view: View;
  /** What it was told to run, in order, and has not reported as ended. */
  readonly tasks = new Map<string, AssignedTask>();
  /** Every attempt that it was given. */
  readonly given: TaskRef[] = [];
  readonly settled: TaskRef[] = [];
  readonly cancels: TaskRef[] = [];
  readonly recalls: TaskRef[] = [];
  /** So many messages brought it orders. */
  messages = 0;
  readonly #nodes: PlayedNodes;

  constructor(nodes: PlayedNodes, name: string) {
    this.#nodes = nodes;
    this.view = {
      org: ORG,
      name,
      createdAt: 0,
      via: 'agent',
      status: 'up',
      statusAt: 0,
      reason: '',
      incarnation: 'first',
      lastEnd: null,
      dialect: 'native',
      facts: {},
      labels: {},
      heardAt: 0,
      stoppedAt: null,
      state: 'ready',
      peer: null,
    };
  }

  receive(message: ServerMessage): void {
    if (message.type !== 'task_orders') return;
    this.messages += 1;
    for (const task of message.assign) {
      if (this.tasks.has(task.id)) continue;
      this.tasks.set(task.id, task);
      this.given.push({ id: task.id, attempt: task.attempt });
    }
    this.settled.push(...message.settled);
    this.cancels.push(...message.cancel);
    this.recalls.push(...message.recall);
  }

  say(message: AgentMessage): void {
    this.#nodes.say(this.view, message);
  }

  offer(
    max: number,
    plugins: readonly string[],
    also: { concurrency?: number; activequeues?: string[]; ignorequeues?: string[] } = {},
  ): void {
    this.say({
      type: 'task_slots',
      max,
      plugins: plugins.map((name) => ({ name, contract: 'module', concurrency: also.concurrency ?? null })),
      activequeues: also.activequeues ?? [],
      ignorequeues: also.ignorequeues ?? [],
    });
  }

  news(...news: TaskNews[]): void {
    this.say({ type: 'task_news', news });
  }

  ref(id: string): TaskRef {
    const task = this.tasks.get(id);
    if (task === undefined) throw new Error(`${this.view.name} does not have ${id}`);
    return { id, attempt: task.attempt };
  }

  start(id: string): void {
    this.news({ ...this.ref(id), event: 'started' });
  }

  finish(id: string, result: Partial<TaskResult> = {}): void {
    const ref = this.ref(id);
    this.tasks.delete(id);
    this.news({ ...ref, event: 'finished', result: { ...SUCCEEDED, ...result } });
  }

  inventory(): void {
    const held = [...this.tasks.values()].map(({ id, attempt }) => ({ id, attempt, state: 'running' as const }));
    this.say({ type: 'task_inventory', held });
  }

  down(): void {
    this.view.status = 'down';
    this.view.reason = 'no heartbeat for 3 intervals';
    this.#nodes.tell((listener) => listener.down?.(this.view));
  }

  up(): void {
    this.view.status = 'up';
    this.#nodes.tell((listener) => listener.up?.(this.view));
  }
}

export const SUCCEEDED: TaskResult = {
  status: 1,
  retry: false,
  reason: null,
  exitCode: 0,
  signal: null,
  stdout: null,
  stderr: null,
  bytes: null,
  durationMs: 5,
};

/** Nodes without a network: what is sent arrives at once. */
export class PlayedNodes implements NodeRegistry {
  readonly #nodes = new Map<string, PlayedNode>();
  readonly #listeners: Partial<NodeListener>[] = [];
  /** Messages to nodes are lost. */
  deaf = false;

  enter(name: string): PlayedNode {
    const node = new PlayedNode(this, name);
    this.#nodes.set(name, node);
    return node;
  }

  say(view: NodeView, message: AgentMessage): void {
    if (message.type === 'heartbeat' || message.type === 'facts' || message.type === 'stopping') return;
    this.tell((listener) => listener.message?.(view, message));
  }

  tell(about: (listener: Partial<NodeListener>) => void): void {
    for (const listener of this.#listeners) about(listener);
  }

  get(orgId: string, name: string): NodeView | undefined {
    return orgId === ORG.id ? this.#nodes.get(name)?.view : undefined;
  }

  list(orgId: string): readonly NodeView[] {
    return orgId === ORG.id ? [...this.all()] : [];
  }

  *all(): Iterable<NodeView> {
    for (const { view } of this.#nodes.values()) yield view;
  }

  attributes(node: NodeView): Attributes {
    return { ...node.facts, ...node.labels, name: node.name, status: node.status };
  }

  send(_orgId: string, names: readonly string[], message: ServerMessage): void {
    if (this.deaf) return;
    for (const name of names) this.#nodes.get(name)?.receive(message);
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
