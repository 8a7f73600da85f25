import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { BatchOrder, BatchReport } from './batch-messages.js';

const BATCH = new URL('./batch.js', import.meta.url);

/** Longest wait for a child to go when its channel is closed. */
const GOODBYE_MS = 5_000;

/** Child processes that hold simulated nodes. */
export interface Batches {
  /** Resolves when every process has prepared its nodes, or connected those that are assigned. */
  readonly ready: Promise<void>;
  /** Resolves when every node of every process has connected; rejects when one cannot. */
  connect(): Promise<void>;
  stop(): Promise<void>;
}

export function startBatches(orders: readonly BatchOrder[]): Batches {
  const children = orders.map((order) => ({
    order,
    child: fork(BATCH, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  }));
  const all = async (work: (child: ChildProcess) => Promise<void>): Promise<void> => {
    await Promise.all(children.map(({ child }) => work(child)));
  };
  const ready = Promise.all(children.map(({ child, order }) => told(child, order))).then(() => undefined);
  // Whoever stops first does not wait for it.
  ready.catch(() => undefined);
  return {
    ready,
    connect: () => all((child) => told(child, { kind: 'connect' })),
    stop: () => all(stopped),
  };
}

/** Gives an order and waits for the report of its end. */
function told(child: ChildProcess, order: BatchOrder): Promise<void> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`a process of simulated nodes exited with ${code}`));
    child.once('exit', gone);
    child.once('message', (report: BatchReport) => {
      child.off('exit', gone);
      if (report.kind === 'failed') reject(new Error(report.reason));
      else resolve();
    });
    child.send(order);
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
