import type { Stream, TaskNews, TaskRef } from '@muster/wire';
import type { OutputPiece } from '../execution/output.js';
import type { Ending } from './machine.js';
import type { Plugin } from './plugins.js';
import type { HeldAttempt, RunOrder } from './protocol.js';

/** What the slot for tasks needs of the processes that run them; the simulator has others. */
export interface TaskHosts {
  /** Finds the hosts of an earlier agent, and ends what dead ones left behind. Resolves when what they have is told. */
  find(): Promise<void>;
  /** A host that has the attempt already begins it no second time. */
  run(order: RunOrder): void;
  kill(ref: TaskRef): void;
  /** Its end is stored: forget it. */
  settle(ref: TaskRef): void;
  stored(ref: TaskRef, stream: Stream, offset: number): void;
  /** All output that is not known to be stored is to be sent again; what was on its way is not told any more. */
  rewind(): void;
  /** Ends the process that runs it, with all else that it runs: it does not answer. */
  destroy(ref: TaskRef): void;
  /** These are the plugins now: hosts of others take no more tasks. */
  configured(plugins: readonly Plugin[]): void;
  /** Lets go of them: they go on, unless they have nothing. */
  close(): void;
}

export interface HostEvents {
  /** An attempt of an earlier agent, before anything else is told of it. */
  held(attempt: HeldAttempt): void;
  news(news: TaskNews): void;
  ending(ref: TaskRef, ending: Ending): void;
  output(piece: TaskRef & OutputPiece): void;
  /** No host can be started for it. */
  refused(ref: TaskRef, reason: string): void;
  /** The process that ran it is gone, and all that it had started. */
  gone(ref: TaskRef, reason: string): void;
}
