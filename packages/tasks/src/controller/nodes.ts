import type { Clock, Timer } from '@muster/base';
import type { NodeListener, NodeMessage, NodeRegistry, NodeView } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Schema, Store, Write } from '@muster/store';
import { isTaskReport } from '@muster/wire';
import type { Transaction } from 'kysely';
import { NodeSlots, type Offer } from '../assign/node-slots.js';
import type { Ids } from '../ids.js';
import type { By, TaskNodeSettings, TaskNodeView } from '../ports.js';
import { saveTaskNode } from '../repository/writes.js';
import type { Book } from './book.js';
import type { Reports } from './reports.js';

export interface TaskNodesDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: LayerLog;
  readonly nodes: NodeRegistry;
  readonly ids: () => Ids;
  readonly book: Book;
  readonly reports: Reports;
}

/** How long the tasks of an agent that was stopped in order wait for the next one. */
const STOPPED_MS = 300_000;

/** What is stored of a node that takes tasks. */
interface Known {
  readonly id: string;
  readonly seenAt: number;
}

/** The nodes that take tasks: what they offer, and what they say. */
export class TaskNodes implements Partial<NodeListener> {
  readonly #deps: TaskNodesDeps;
  readonly #slots = new Map<NodeView, NodeSlots>();
  readonly #known = new Map<NodeSlots, Known>();
  /** Of nodes whose agent was stopped while it had tasks. */
  readonly #absent = new Map<NodeSlots, Timer>();

  constructor(deps: TaskNodesDeps) {
    this.#deps = deps;
  }

  async load(): Promise<void> {
    const { store, nodes } = this.#deps;
    for (const row of await store.read.selectFrom('task_nodes').selectAll().execute()) {
      const node = nodes.get(row.org_id, row.node);
      if (node === undefined) continue;
      const slots = this.slots(node);
      slots.maxthreads = row.maxthreads;
      this.#known.set(slots, { id: row.id, seenAt: row.seen_at ?? 0 });
    }
  }

  slots(node: NodeView): NodeSlots {
    let slots = this.#slots.get(node);
    if (slots === undefined) {
      slots = new NodeSlots(node);
      this.#slots.set(node, slots);
    }
    return slots;
  }

  of(orgId: string): readonly NodeSlots[] {
    return [...this.#slots.values()].filter(({ node }) => node.org.id === orgId);
  }

  all(): Iterable<NodeSlots> {
    return this.#slots.values();
  }

  // --- what nodes do

  /** Nodes that were down when the server stopped, and had tasks: their agents were stopped. */
  opened(): void {
    for (const slots of this.#slots.values()) if (slots.node.status === 'down') this.#awaitAgent(slots);
  }

  up(node: NodeView): void {
    const { nodes, book } = this.#deps;
    this.#here(this.slots(node));
    // It may have been taken for down while it went on.
    nodes.send(node.org.id, [node.name], { type: 'task_census' });
    book.scheduler.roomAt(this.slots(node));
    book.look();
  }

  down(node: NodeView): void {
    const slots = this.slots(node);
    this.#deps.book.scheduler.forgetNode(slots);
    // Its tasks go on without it, and the next agent has them: an agent is restarted, or upgraded.
    if (node.stoppedAt !== null) this.#awaitAgent(slots);
    else this.#deps.reports.down(slots, node);
  }

  #awaitAgent(slots: NodeSlots): void {
    if (slots.held.size === 0) return;
    this.#here(slots);
    const timer = this.#deps.clock.after(STOPPED_MS, () => {
      this.#absent.delete(slots);
      this.#deps.reports.down(slots, slots.node);
    });
    this.#absent.set(slots, timer);
  }

  #here(slots: NodeSlots): void {
    this.#absent.get(slots)?.cancel();
    this.#absent.delete(slots);
  }

  stop(): void {
    for (const slots of [...this.#absent.keys()]) this.#here(slots);
  }

  message(node: NodeView, message: NodeMessage): void {
    // What it has is lost already, until it is up again and says what it has.
    if (!isTaskReport(message) || node.status !== 'up') return;
    const { reports } = this.#deps;
    const slots = this.slots(node);
    switch (message.type) {
      case 'task_slots':
        return this.#offered(slots, message);
      case 'task_news':
        return reports.news(slots, message);
      case 'task_inventory':
        return reports.inventory(slots, message);
      case 'task_output':
        return reports.output(slots, message);
    }
  }

  async removing(node: NodeView, trx: Transaction<Schema>): Promise<void> {
    await trx.deleteFrom('task_nodes').where('org_id', '=', node.org.id).where('node', '=', node.name).execute();
  }

  removed(node: NodeView): void {
    const slots = this.slots(node);
    this.#here(slots);
    this.#deps.reports.down(slots, node);
    this.#slots.delete(node);
    this.#known.delete(slots);
  }

  #offered(slots: NodeSlots, offer: Offer): void {
    const { book } = this.#deps;
    slots.offered(offer);
    if (!this.#known.has(slots)) this.#save(slots);
    book.scheduler.roomAt(slots);
    book.look();
  }

  // --- what the command interface shows

  views(orgId: string): readonly TaskNodeView[] {
    return this.of(orgId)
      .flatMap((slots) => {
        const known = this.#known.get(slots);
        if (known === undefined) return [];
        const { node } = slots;
        const running = slots.running;
        return {
          id: known.id,
          node: node.name,
          live: node.status === 'up',
          seenAt: node.heardAt ?? known.seenAt,
          maxthreads: slots.maxthreads,
          max: slots.offer?.max ?? null,
          running,
          waiting: slots.held.size - running,
        };
      })
      .sort((a, b) => (a.node < b.node ? -1 : 1));
  }

  async set(org: Organization, name: string, { maxthreads, id }: TaskNodeSettings, by: By): Promise<boolean> {
    const slots = this.of(org.id).find((one) => one.node.name === name || this.#known.get(one)?.id === name);
    const known = slots && this.#known.get(slots);
    if (slots === undefined || known === undefined) return false;
    const next = { ...known, id: id ?? known.id };
    if (slots.maxthreads === maxthreads && next.id === known.id) return false;
    const { book, store } = this.#deps;
    const { node } = slots;
    await store.commit([rowOf(node, next, maxthreads, node.heardAt ?? known.seenAt), ...(by.record ?? [])]);
    this.#known.set(slots, next);
    slots.maxthreads = maxthreads;
    book.scheduler.roomAt(slots);
    book.look();
    return true;
  }

  /** One that takes tasks for the first time. */
  #save(slots: NodeSlots): void {
    const { store, clock, ids, logger } = this.#deps;
    const known: Known = { id: ids().next(), seenAt: clock.now() };
    this.#known.set(slots, known);
    const { node } = slots;
    store
      .persist([rowOf(node, known, null, known.seenAt)])
      .catch((error: unknown) => logger.warn({ err: error, node: node.name }, 'a node could not be stored'));
  }
}

function rowOf({ org, name }: NodeView, { id }: Known, maxthreads: number | null, seenAt: number): Write {
  return saveTaskNode({ org_id: org.id, node: name, id, maxthreads, seen_at: seenAt });
}
