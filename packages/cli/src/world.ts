import type { Readable } from 'node:stream';

/** Where text goes: a terminal, a pipe, or a test. */
export interface Sink {
  write(data: string | Uint8Array): boolean;
  /** Called back when a full buffer has drained; absent where writing never has to wait. */
  once?(event: 'drain', listener: () => void): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

/** The process around a command, given as a parameter so that tests run commands in process. */
export interface World {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly stdout: Sink;
  readonly stderr: Sink;
  readonly stdin: Readable & { readonly isTTY?: boolean };
  /** Calls `handler` for each of these signals until the returned function is called. */
  onSignal(signals: readonly NodeJS.Signals[], handler: (signal: NodeJS.Signals) => void): () => void;
  now(): number;
}

/** The process as it is. */
export function processWorld(): World {
  return {
    env: process.env,
    cwd: process.cwd(),
    stdout: process.stdout,
    stderr: process.stderr,
    stdin: process.stdin,
    onSignal(signals, handler) {
      for (const signal of signals) process.on(signal, handler);
      return () => {
        for (const signal of signals) process.off(signal, handler);
      };
    },
    now: () => Date.now(),
  };
}
