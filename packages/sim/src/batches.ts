import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { BatchOrder, BatchReport } from './batch-messages.js';

const BATCH = new URL('./batch.js', import.meta.url);

/** Longest wait for a child to go when its channel is closed. */
const GOODBYE_MS = 5_000;

/** Child processes that hold simulated nodes. */
export interface Batches {
  /** Resolves when every node of every process has connected; rejects when one cannot. */
  readonly connected: Promise<void>;
  stop(): Promise<void>;
}

export function startBatches(orders: readonly BatchOrder[]): Batches {
  const children = orders.map((order) => {
    const child = fork(BATCH, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
    child.send(order);
    return child;
  });
  return {
    connected: Promise.all(children.map(connected)).then(() => undefined),
    stop: async () => {
      await Promise.all(children.map(stopped));
    },
  };
}

function connected(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a process of simulated nodes exited with ${code}`)));
    child.once('message', (report: BatchReport) => {
      if (report.kind === 'connected') resolve();
      else reject(new Error(report.reason));
    });
  });
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const killer = setTimeout(() => child.kill('SIGKILL'), GOODBYE_MS);
  if (child.connected) child.disconnect();
  await gone;
  clearTimeout(killer);
}
