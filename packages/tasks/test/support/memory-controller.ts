import type { Organization } from '@muster/platform/auth';
import type { Store } from '@muster/store';
import { ProgressNews } from '../../src/controller/progress.js';
import { MusterError } from '../../src/errors.js';
import { isId } from '../../src/ids.js';
import type {
  Acted,
  Added,
  By,
  NewQueue,
  NewTask,
  ProgressFollower,
  QueueChanges,
  QueueCounts,
  QueueView,
  TaskController,
  TaskNodeSettings,
  TaskNodeView,
} from '../../src/ports.js';
import { addTask, type TaskRow } from '../../src/repository/writes.js';
import { STATUS_NAMES } from '../../src/status.js';
import type { Queue } from '../../src/types.js';

/**
 * Queues in memory and tasks in the store, without anything that runs them: what the command interface needs of the controller.
 */
export class MemoryController implements TaskController {
  readonly #store: Store;
  readonly #queues = new Map<string, Queue>();
  readonly shownNodes: TaskNodeView[] = [];
  readonly counts = new Map<string, Partial<QueueCounts>>();
  readonly did: { readonly what: string; readonly by: By }[] = [];
  pluginNames: string[] = ['Disbatch::Plugin::Demo'];
  #ids = 0;

  constructor(store: Store) {
    this.#store = store;
  }

  nextId(): string {
    return `65000000${(++this.#ids).toString(16).padStart(16, '0')}`;
  }

  queues(orgId: string): readonly QueueView[] {
    return [...this.#queues.values()].filter((queue) => queue.orgId === orgId).map((queue) => this.#view(queue));
  }

  queue(orgId: string, idOrName: string): QueueView | undefined {
    return this.queues(orgId).find(({ id, name }) => (isId(idOrName) ? id : name) === idOrName);
  }

  #view(queue: Queue): QueueView {
    const none = Object.fromEntries(STATUS_NAMES.map((name) => [name, 0])) as unknown as QueueCounts;
    return {
      ...queue,
      counts: { ...none, ...this.counts.get(queue.id) },
      endedLastMinute: 0,
      why: [],
    };
  }

  async createQueue(org: Organization, { rules, ...queue }: NewQueue, by: By): Promise<QueueView> {
    if (this.queue(org.id, queue.name) !== undefined) throw new MusterError('queue_exists', { name: queue.name });
    const made: Queue = {
      ...queue,
      id: this.nextId(),
      orgId: org.id,
      createdAt: 0,
      updatedAt: 0,
      rules: {
        sort: 'default',
        nodes: null,
        ignoreNodes: null,
        weight: 1,
        key: null,
        rate: null,
        retry: { limit: 0, first: 1, longest: 60 },
        orphanRetries: 0,
        timeout: null,
        outputLimit: 1,
        keep: null,
        writers: [],
        readers: [],
        ...rules,
        secrets: null,
      },
    };
    this.#queues.set(made.id, made);
    this.did.push({ what: 'create', by });
    return this.#view(made);
  }

  async changeQueue(org: Organization, id: string, { rules, ...changes }: QueueChanges, by: By) {
    const before = this.#queues.get(id);
    if (before === undefined) throw new MusterError('not_found', { kind: 'queue', name: id });
    if (changes.name !== undefined && changes.name !== before.name && this.queue(org.id, changes.name) !== undefined) {
      throw new MusterError('queue_exists', { name: changes.name });
    }
    const after = { ...before, ...changes, rules: { ...before.rules, ...rules, secrets: null } };
    this.#queues.set(id, after);
    this.did.push({ what: 'change', by });
    return { changed: JSON.stringify(before) !== JSON.stringify(after), queue: this.#view(after) };
  }

  async removeQueue(_org: Organization, id: string, _how: object, by: By): Promise<void> {
    this.#queues.delete(id);
    this.did.push({ what: 'remove', by });
  }

  async add(org: Organization, queueId: string, tasks: readonly NewTask[], by: By): Promise<readonly Added[]> {
    const rows = tasks.map(({ params }) => this.#row(org.id, queueId, JSON.stringify(params), by));
    await this.#store.commit([...rows.map((row) => addTask(row)), ...(by.record ?? [])]);
    const waiting = this.counts.get(queueId)?.queued ?? 0;
    this.counts.set(queueId, { ...this.counts.get(queueId), queued: waiting + tasks.length });
    return rows.map(({ id }) => ({ id, created: true }));
  }

  #row(orgId: string, queueId: string, params: string, { identity }: By): Parameters<typeof addTask>[0] {
    return {
      id: this.nextId(),
      org_id: orgId,
      queue_id: queueId,
      params,
      options: null,
      lane: '',
      requester: identity.name,
      ctime: 1_700_000_000_123,
      mtime: 1_700_000_000_123,
      status: -2,
      rank: 0,
      not_before: null,
      expires_at: null,
      waits_for: 0,
    };
  }

  async act(): Promise<readonly Acted[]> {
    return [];
  }

  async why(_row: TaskRow): Promise<readonly string[]> {
    return [];
  }

  progress(): null {
    return null;
  }

  followProgress(id: string): ProgressFollower {
    return new ProgressNews().follow(id);
  }

  async takeUp(): Promise<void> {}

  nodes(): readonly TaskNodeView[] {
    return this.shownNodes;
  }

  async setNode(_org: Organization, name: string, { maxthreads }: TaskNodeSettings): Promise<boolean> {
    const at = this.shownNodes.findIndex(({ node }) => node === name);
    const node = this.shownNodes[at];
    if (node === undefined) return false;
    this.shownNodes[at] = { ...node, maxthreads };
    return node.maxthreads !== maxthreads;
  }

  plugins(): readonly string[] {
    return this.pluginNames;
  }
}
