import type { Stream } from './push.js';

/** What server and agent say about tasks: pieces of a backlog, each run once by a plugin of one node. */

/**
 * One attempt at one task. What an attempt says after another has been assigned changes nothing: the number fences it.
 */
export interface TaskRef {
  readonly id: string;
  /** From 1. */
  readonly attempt: number;
}

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** What a task is run with. */
export interface AssignedTask extends TaskRef {
  readonly queue: { readonly id: string; readonly name: string };
  /** Name of the plugin, as the node calls it. */
  readonly plugin: string;
  readonly params: { readonly [name: string]: Json };
  /** When it was added, and when it was assigned: milliseconds since the epoch. */
  readonly ctime: number;
  readonly mtime: number;
  /** Limit of its run; null: none but that of the plugin. */
  readonly timeoutSeconds: number | null;
  /** Most bytes kept of each stream of its output. */
  readonly outputLimit: number;
  /** What its plugin finds secrets as, which the node asks for; absent: it has none. */
  readonly secrets?: readonly string[];
}

/** Server to agent. */
export type TaskOrder =
  /** All that there is to say to a node at one moment; each list may be empty. */
  | {
      readonly type: 'task_orders';
      /** To be run, in this order. One that the agent has already changes nothing. */
      readonly assign: readonly AssignedTask[];
      /** How they ended is stored: the agent may forget them. */
      readonly settled: readonly TaskRef[];
      /** To be ended with all their processes; answered by `cancelled`, or by `finished` when it had ended. */
      readonly cancel: readonly TaskRef[];
      /** To be given back unless they have begun; answered by `returned` or not at all. */
      readonly recall: readonly TaskRef[];
    }
  /** All bytes below `offset` of this stream are stored; the agent may forget them. */
  | (TaskRef & { readonly type: 'task_output_stored'; readonly stream: Stream; readonly offset: number })
  /** What does the node offer, and what does it have? Answered by `task_slots` and `task_inventory`. */
  | { readonly type: 'task_census' };

/** How an agent runs a plugin. */
export type PluginContract = 'default' | 'nomongo' | 'simple' | 'module' | 'perl';

export interface OfferedPlugin {
  readonly name: string;
  readonly contract: PluginContract;
  /** Tasks of it at one time; null: as many as the node runs. */
  readonly concurrency: number | null;
}

/** How an attempt ended, if its plugin came to an end. */
export interface TaskResult {
  /** Positive: 1 succeeded, 2 failed, others as the plugin says. */
  readonly status: number;
  /** The plugin asks to be run again (exit status 75). */
  readonly retry: boolean;
  /** What was wrong, in a sentence; null when nothing was. */
  readonly reason: string | null;
  /** Of its process; null: it has none of its own, or a signal ended it. */
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Output that was not streamed; null: none, or `bytes` tells how much was streamed. */
  readonly stdout: string | null;
  readonly stderr: string | null;
  /** Bytes of output that were streamed, those that were dropped over the limit included; null: nothing was streamed. */
  readonly bytes: { readonly stdout: number; readonly stderr: number } | null;
  /** How long it ran, in milliseconds. */
  readonly durationMs: number;
}

/** What happened to an attempt. */
export type TaskHappening =
  | { readonly event: 'started' }
  /** `fraction` from 0 to 1. */
  | { readonly event: 'progress'; readonly fraction: number; readonly text: string }
  | { readonly event: 'finished'; readonly result: TaskResult }
  /** It never began, and will not. */
  | { readonly event: 'returned'; readonly reason: string }
  /** Ended because that was asked for, all its processes are gone. `forced`: it had to be killed. */
  | {
      readonly event: 'cancelled';
      readonly forced: boolean;
      readonly bytes: { readonly stdout: number; readonly stderr: number } | null;
      readonly durationMs: number;
    }
  /** It ran, and nobody can tell how it ended: what ran it is gone. */
  | { readonly event: 'lost'; readonly reason: string };

export type TaskNews = TaskRef & TaskHappening;

/** What an agent has of an attempt: it waits for a slot, runs, or has ended and is not settled. */
export type HeldState = 'waiting' | 'running' | 'ended';

/** Agent to server. */
export type TaskReport =
  /** What the node offers; said when it connects and whenever it changes. */
  | {
      readonly type: 'task_slots';
      /** Tasks at one time. 0: none for now. */
      readonly max: number;
      readonly plugins: readonly OfferedPlugin[];
      /** Ids or names: only these queues; when empty, all but `ignorequeues`. */
      readonly activequeues: readonly string[];
      readonly ignorequeues: readonly string[];
    }
  /** In the order in which they happened. Repeated until they are settled. */
  | { readonly type: 'task_news'; readonly news: readonly TaskNews[] }
  /** Every attempt that the agent holds; said when it connects and with each heartbeat while it holds any. */
  | { readonly type: 'task_inventory'; readonly held: readonly (TaskRef & { readonly state: HeldState })[] }
  | (TaskRef & {
      readonly type: 'task_output';
      readonly stream: Stream;
      /** Position of `data` in everything the attempt wrote; a jump over the previous end means bytes were dropped. */
      readonly offset: number;
      readonly data: Uint8Array;
    });
