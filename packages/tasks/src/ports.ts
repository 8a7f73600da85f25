import type { Identity, Organization } from '@muster/platform/auth';
import type { Recordable } from '@muster/platform/log';
import type { Write } from '@muster/store';
import type { QueueRow, TaskRow } from './repository/writes.js';
import type { AskedSecrets } from './secrets/use.js';
import type { StatusName } from './status.js';
import type { Params, Queue, QueueRules, QueueState, TaskOptions } from './types.js';

/** What routes, schedules and the command interface need of queues and tasks. */

export interface NewQueue {
  readonly name: string;
  readonly plugin: string;
  readonly threads: number | null;
  readonly state: QueueState;
  readonly rules: AskedRules;
}

/** Whose rights its secrets are used with is said where it is stored. */
export type AskedRules = Partial<Omit<QueueRules, 'secrets'>> & { readonly secrets?: AskedSecrets | null };

export type QueueChanges = Partial<Omit<NewQueue, 'rules'>> & { readonly rules?: AskedRules };

export type QueueCounts = Readonly<Record<StatusName, number>>;

/** A queue, and how it is getting on. */
export interface QueueView extends Queue {
  readonly counts: QueueCounts;
  /** Tasks ended in the last minute. */
  readonly endedLastMinute: number;
  /** Why nothing is assigned though something waits, in sentences; empty while it moves. */
  readonly why: readonly string[];
}

export interface NewTask {
  readonly params: Params;
  readonly options?: AskedOptions;
}

export type AskedOptions = Partial<Omit<TaskOptions, 'secrets'>> & {
  readonly secrets?: AskedSecrets;
  /** Where the queue led when they were named; absent: they are named now. */
  readonly place?: string;
};

/** What became of one task that was to be added. */
export interface Added {
  readonly id: string;
  /** False: there was one with its idempotency key already, which is this. */
  readonly created: boolean;
}

/** What else is stored in the commit that stores the tasks. */
export interface StoredAlong {
  readonly writes: readonly Write[];
  readonly events: readonly Recordable[];
}

export type TaskAction = 'retry' | 'cancel' | 'hold' | 'release' | 'remove';

export interface Acted {
  readonly id: string;
  /** Null: done. */
  readonly refused: string | null;
}

/** Who does it, and what the audit stores in the same commit. */
export interface By {
  readonly identity: Pick<Identity, 'type' | 'name' | 'principalId'>;
  readonly record?: readonly Write[];
}

/** Who acts on tasks, and how. */
export interface ActedBy extends By {
  /** Status code that holds them. */
  readonly code?: number;
  /** What is stored with each part of them that was acted on; not asked where all of a part was refused. */
  readonly along?: (acted: readonly Acted[]) => readonly Write[];
}

export interface TaskController {
  // --- queues: from memory

  queues(orgId: string): readonly QueueView[];
  /** By id or by name. */
  queue(orgId: string, idOrName: string): QueueView | undefined;
  /** @throws MusterError `queue_exists`, `too_many`, `invalid_field`. */
  createQueue(org: Organization, queue: NewQueue, by: By): Promise<QueueView>;
  /** @throws MusterError `not_found`, `queue_exists`. Unchanged values change nothing; answers whether anything did. */
  changeQueue(
    org: Organization,
    id: string,
    changes: QueueChanges,
    by: By,
  ): Promise<{ changed: boolean; queue: QueueView }>;
  /**
   * Its waiting tasks go with it, unless `keepTasks` (as the command interface has it).
   * @throws MusterError `not_found`; `queue_busy` while a node has tasks of it, unless `force`, which cancels them.
   */
  removeQueue(org: Organization, id: string, how: { force: boolean; keepTasks: boolean }, by: By): Promise<void>;

  // --- tasks

  /**
   * Stores them all or none; in the order given. Resolves when they are durable.
   * @param along What is stored with them; it may be asked again.
   * @throws MusterError `not_found`, `queue_draining`, `invalid_field` (`tasks.3.after`), `too_many`, `store_unavailable`.
   */
  add(
    org: Organization,
    queueId: string,
    tasks: readonly NewTask[],
    by: By,
    along?: (added: readonly Added[]) => StoredAlong,
  ): Promise<readonly Added[]>;
  /** Each by itself; a task of another organization is refused as one that does not exist. */
  act(org: Organization, ids: readonly string[], action: TaskAction, how: ActedBy): Promise<readonly Acted[]>;
  /** Why it is where it is, in sentences. */
  why(row: TaskRow): Promise<readonly string[]>;
  /** What a task that runs last said of its progress. */
  progress(id: string): TaskProgress | null;
  /** Of a task, whether it runs or not; to be stopped. */
  followProgress(id: string): ProgressFollower;

  /** An import stored these queues and tasks past it: from now on they count, and those that wait are offered. */
  takeUp(
    org: Organization,
    stored: { readonly queues: readonly QueueRow[]; readonly tasks: readonly string[] },
  ): Promise<void>;

  // --- nodes, as the command interface shows them

  nodes(orgId: string): readonly TaskNodeView[];
  /** False: there is no such node, or it is so already. */
  setNode(org: Organization, node: string, settings: TaskNodeSettings, by: By): Promise<boolean>;
  /** Plugins that some node offers, or that the configuration names. */
  plugins(orgId: string): readonly string[];
}

export interface TaskProgress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly text: string;
}

export interface ProgressFollower {
  /** Resolves once something has been said since it was called last. */
  news(): Promise<void>;
  stop(): void;
}

export interface TaskNodeSettings {
  /** Null: none. */
  readonly maxthreads: number | null;
  /** 24 hex digits; as before unless given. */
  readonly id?: string;
}

export interface TaskNodeView {
  /** 24 hex digits. */
  readonly id: string;
  readonly node: string;
  readonly live: boolean;
  /** When it was last heard of, in milliseconds. */
  readonly seenAt: number;
  /** Set by the command interface; null: none. */
  readonly maxthreads: number | null;
  /** What its agent offers; null while it is not known. */
  readonly max: number | null;
  readonly running: number;
  readonly waiting: number;
}
