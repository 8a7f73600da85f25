import type { AssignedTask, Stream, TaskNews, TaskRef } from '@muster/wire';
import type { Ending } from './machine.js';
import type { Plugin } from './plugins.js';

/**
 * What the agent and its host processes say to each other. A host outlives the agent that started it, so an agent may
 * talk to a host of an earlier version: what changes the meaning of a message here raises the version.
 */
export const PROTOCOL_VERSION = 3;
/** The oldest version of hosts that this agent takes over. It gives them no more tasks, and 1 differs in how it gets them. */
export const OLDEST_VERSION = 1;

/** What a host is started with: it says all that its tasks have in common, and does not change while it lives. */
export interface HostSpec {
  readonly version: number;
  /** Tells hosts apart that differ in what they were started with, the version of the agent included. */
  readonly key: string;
  /** Name of the node. */
  readonly node: string;
  /** Null: programs of all plugins. */
  readonly module: ModuleSpec | null;
  /** Where tasks of programs have their working directories, unless their plugin says otherwise. */
  readonly workDir: string;
}

export interface ModuleSpec {
  readonly plugin: string;
  readonly file: string;
  /** Replaced after so many tasks, or when it uses so many bytes. */
  readonly runs: number;
  readonly memory: number;
}

/** How tasks are run, which many of them have in common. */
export interface RunTerms {
  /** As the node's configuration is now. */
  readonly plugin: Plugin;
  /** Null: no limit. */
  readonly timeoutMs: number | null;
  readonly graceMs: number;
  /** Most bytes of each stream that may come with the result, written as JSON. */
  readonly inlineBytes: number;
}

/** A task with all that is needed to run it here. */
export interface RunOrder extends RunTerms {
  readonly task: AssignedTask;
  /** Values, by what the plugin finds them as; absent: it has none. */
  readonly secrets?: Readonly<Record<string, string>>;
}

/** Agent to host. */
export type ToHost =
  /** For all tasks that follow, until others are said. */
  | { readonly t: 'terms'; readonly terms: RunTerms }
  | { readonly t: 'run'; readonly task: AssignedTask; readonly secrets?: Readonly<Record<string, string>> }
  | (TaskRef & { readonly t: 'kill' })
  /** The server has its end: forget it. */
  | (TaskRef & { readonly t: 'settle' })
  | (TaskRef & { readonly t: 'stored'; readonly stream: Stream; readonly offset: number })
  /** All output that is not known to be stored is to be sent again. Output of an earlier epoch is not wanted any more. */
  | { readonly t: 'rewind'; readonly epoch: number }
  /** No more tasks come: end when nothing is left. */
  | { readonly t: 'retire' };

/** What a host has of an attempt. */
export interface HeldAttempt extends TaskRef {
  readonly plugin: string;
  readonly timeoutMs: number | null;
  readonly graceMs: number;
  readonly ending: Ending | null;
  /** Null: something of it still runs, or its output is on its way. */
  readonly end: TaskNews | null;
}

/** Host to agent. */
export type FromHost =
  /** To each agent that connects: all that it has, one after the other, and then that this was all. */
  | { readonly t: 'held'; readonly attempt: HeldAttempt }
  | { readonly t: 'hello' }
  | { readonly t: 'news'; readonly news: TaskNews }
  /** Its processes have ended, but its output is on its way; `ending` is what is told if the host ends before. */
  | (TaskRef & { readonly t: 'ending'; readonly ending: Ending })
  | (TaskRef & {
      readonly t: 'output';
      readonly epoch: number;
      readonly stream: Stream;
      readonly offset: number;
      readonly data: Uint8Array;
    })
  /** It takes no more tasks. */
  | { readonly t: 'retiring'; readonly reason: string }
  | { readonly t: 'log'; readonly level: 'debug' | 'warn' | 'error'; readonly text: string };
