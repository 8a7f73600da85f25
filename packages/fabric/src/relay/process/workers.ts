import cluster, { type Worker } from 'node:cluster';
import { once } from 'node:events';
import type { Clock } from '@muster/base';
import { mergeStatus, type RelayStatus } from '../status/status.js';

/** What a worker and the process that started it say to each other. */
type WorkerMessage =
  | { readonly type: 'serving' }
  | { readonly type: 'status'; readonly request: number; readonly status: RelayStatus };
interface StatusRequest {
  readonly type: 'status';
  readonly request: number;
}

export interface WorkersOptions {
  readonly count: number;
  /** Before a worker that died is replaced. */
  readonly retryMs: number;
}

export interface WorkersPorts {
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly log: { warn(details: object, message: string): void };
}

export interface Workers {
  /** Settles with the exit code of a worker that could not even begin. */
  readonly failed: Promise<number>;
  /** Rejects when none of them answers. */
  status(): Promise<RelayStatus>;
  /** Tells them to stop, and waits for them. */
  stop(): Promise<void>;
}

/** A worker that is busy for longer is left out of the status. */
const STATUS_MS = 2000;

/**
 * Starts this program again, so many times, as workers that share the listening ports: each is a relay with its own
 * connection upstream. One that dies is replaced.
 */
export function startWorkers({ count, retryMs }: WorkersOptions, { clock, random, log }: WorkersPorts): Workers {
  let stopping = false;
  let asked = 0;
  let everServed = false;
  let give: (code: number) => void = () => {};
  const failed = new Promise<number>((resolve) => {
    give = resolve;
  });
  const waiting = new Map<number, (status: RelayStatus) => void>();
  const workers = new Set<Worker>();

  const begin = (): void => {
    const worker = cluster.fork();
    workers.add(worker);
    worker.on('message', (message: WorkerMessage) => {
      if (message.type === 'serving') everServed = true;
      else waiting.get(message.request)?.(message.status);
    });
    worker.on('exit', (code, signal) => {
      workers.delete(worker);
      if (stopping) return;
      // Wrong options, a refused login, a port that is taken: another one would end the same way.
      if (!everServed && code !== 0 && code !== null) return give(code);
      log.warn({ pid: worker.process.pid, code, signal }, 'a worker died and is replaced');
      clock.after(retryMs * (0.5 + random()), () => {
        if (!stopping) begin();
      });
    });
  };
  for (let started = 0; started < count; started++) begin();

  const statusOf = (worker: Worker): Promise<RelayStatus | null> =>
    new Promise((resolve) => {
      asked += 1;
      const request = asked;
      const done = (status: RelayStatus | null) => {
        waiting.delete(request);
        timer.cancel();
        resolve(status);
      };
      const timer = clock.after(STATUS_MS, () => done(null));
      waiting.set(request, done);
      worker.send({ type: 'status', request } satisfies StatusRequest, (error) => error !== null && done(null));
    });

  return {
    failed,
    async status() {
      const all = await Promise.all([...workers].map(statusOf));
      const merged = mergeStatus(
        process.pid,
        all.filter((one) => one !== null),
      );
      if (merged === null) throw new Error('no worker answers');
      return merged;
    },
    async stop() {
      stopping = true;
      await Promise.all(
        [...workers].map(async (worker) => {
          const gone = once(worker, 'exit');
          worker.process.kill('SIGTERM');
          await gone;
        }),
      );
    },
  };
}

/** In a worker: answers the questions of the process that started it. */
export function answerPrimary(status: () => RelayStatus): { serving(): void } {
  const send = (message: WorkerMessage) => void process.send?.(message);
  process.on('message', ({ type, request }: StatusRequest) => {
    if (type === 'status') send({ type: 'status', request, status: status() });
  });
  return { serving: () => send({ type: 'serving' }) };
}
