import type { Json } from '@muster/wire';
import type { SecretUse } from './secrets/use.js';

/** Parameters of a task: an object, whatever is in it. */
export type Params = { readonly [name: string]: Json };

/** In which order a queue takes its tasks; `default` is as `fifo`. */
export type QueueSort = 'fifo' | 'lifo' | 'default';

/** When a task that failed is run again. */
export interface RetryRule {
  /** How often at most, after the first run. */
  readonly limit: number;
  /** Seconds before the first retry, doubled before each further one up to `longest`. */
  readonly first: number;
  readonly longest: number;
}

/** What a queue says besides its name, its plugin and how many of its tasks run at one time. */
export interface QueueRules {
  readonly sort: QueueSort;
  /** Selector of the nodes that may run its tasks; null: all. */
  readonly nodes: string | null;
  /** Selector of the nodes that may not. */
  readonly ignoreNodes: string | null;
  /** Its share of a node's slots beside other queues. */
  readonly weight: number;
  /** Name of the parameter whose value is a task's key, and how many tasks of one key run at one time. */
  readonly key: { readonly param: string; readonly limit: number } | null;
  /** Most tasks that are assigned in a time, in seconds. */
  readonly rate: { readonly tasks: number; readonly seconds: number } | null;
  readonly retry: RetryRule;
  /** How often at most a task is queued again whose node was lost while it ran. */
  readonly orphanRetries: number;
  /** Seconds that one run may take; null: no limit. */
  readonly timeout: number | null;
  /** Most bytes kept of each stream of the output of a task. */
  readonly outputLimit: number;
  /** Seconds that tasks are kept after they ended; null: as the server says; 0: for ever. */
  readonly keep: number | null;
  /** What its plugin is given of secrets; null: nothing. */
  readonly secrets: SecretUse | null;
  /** Groups and users that may add tasks and act on them, and that may look at them, besides those with the roles. */
  readonly writers: readonly string[];
  readonly readers: readonly string[];
}

/** How a queue stands: `draining` takes no more tasks, and works off those it has. */
export type QueueState = 'open' | 'paused' | 'draining';

export interface Queue {
  /** 24 hex digits, later ones greater. */
  readonly id: string;
  readonly orgId: string;
  readonly name: string;
  readonly plugin: string;
  /** Tasks at one time on all nodes together; null: no limit (T3). */
  readonly threads: number | null;
  readonly state: QueueState;
  readonly rules: QueueRules;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What is said of a task when it is added, besides its parameters. */
export interface TaskOptions {
  /** Higher ones first; 0 unless said. */
  readonly priority: number;
  /** Not before this time: milliseconds since the epoch. */
  readonly notBefore: number | null;
  /** Cancelled unless it has begun by then. */
  readonly expiresAt: number | null;
  /** Ids of tasks of the organization that must have succeeded before. */
  readonly after: readonly string[];
  /** Another task of the queue with the same text is not made for `seconds`. */
  readonly unique: { readonly key: string; readonly seconds: number } | null;
  /** Instead of what the queue says. */
  readonly retries: number | null;
  readonly timeout: number | null;
  /** Besides what the queue says. */
  readonly secrets: SecretUse | null;
}

/** What is stored of a task besides how it stands. */
export interface TaskRequest {
  readonly params: Params;
  readonly options: Partial<TaskOptions>;
}

/** One run of a plugin that is over while its task is not: it was retried, or queued again. */
export interface PastAttempt {
  readonly attempt: number;
  readonly node: string;
  readonly status: number;
  readonly reason: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number;
}
