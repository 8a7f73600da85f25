import type { App } from '../apps/types.js';
import type { BatchQueue, System } from '../systems/types.js';
import { refused } from './refusal.js';
import type { Submission } from './submission.js';

/** What a job may use, and the batch queue that gives it. */
export interface Resources {
  readonly remoteQueue: string | null;
  readonly nodeCount: number;
  readonly processorsPerNode: number;
  readonly memoryMb: number;
  readonly maxSeconds: number;
}

const DEFAULT_MEMORY_MB = 1024;
/** As Agave: 999:59:59. */
const DEFAULT_SECONDS = 3_599_999;

/** null: as much as the queue gives. */
interface Wanted {
  readonly nodes: number;
  readonly processors: number;
  readonly memoryMb: number | null;
  readonly seconds: number | null;
}

/**
 * What a job gets that asks for this: what it says, else what its app says, else what the queue gives at most. The queue is
 * the one that it names, else that of the app, else the system's default one if it fits, else the first that fits (sheet §1.3).
 * @throws MusterError `job_invalid`
 */
export function resourcesOf(submission: Submission, { defaults }: Pick<App, 'defaults'>, system: System): Resources {
  const nodes = submission.nodeCount ?? defaults.nodeCount ?? 1;
  const wanted: Wanted = {
    nodes,
    processors: processorsOf(submission, nodes) ?? defaults.processorsPerNode ?? 1,
    memoryMb: submission.memoryMb ?? defaults.memoryMb,
    seconds: submission.maxSeconds ?? defaults.maxSeconds,
  };
  const queue = chooseQueue(submission.batchQueue, defaults.queue, wanted, system);
  return {
    remoteQueue: queue?.name ?? null,
    nodeCount: nodes,
    processorsPerNode: wanted.processors,
    memoryMb: wanted.memoryMb ?? limit(queue?.maxMemoryMb) ?? DEFAULT_MEMORY_MB,
    maxSeconds: wanted.seconds ?? limit(queue?.maxSeconds) ?? DEFAULT_SECONDS,
  };
}

function processorsOf({ processors, allProcessors }: Submission, nodes: number): number | null {
  if (processors !== null || allProcessors === null) return processors;
  if (allProcessors % nodes === 0) return allProcessors / nodes;
  const reason = `${allProcessors} processors on all nodes together are no multiple of ${nodes} nodes: say processorsOnEachNode`;
  throw refused('JOBS_INVALID_PROCESSORS_PER_NODE', 'processorsPerNode', reason);
}

function chooseQueue(asked: string | null, ofApp: string | null, wanted: Wanted, system: System): BatchQueue | null {
  const { queues, name } = system;
  // Only a scheduler has queues.
  if (queues.length === 0 && system.scheduler !== 'slurm') return null;
  const chosen = asked ?? ofApp;
  if (chosen !== null) {
    const queue = queues.find((one) => one.name === chosen);
    if (queue === undefined) {
      const known = queues.length === 0 ? 'which has none' : `which has ${queues.map((one) => one.name).join(', ')}`;
      const of = asked === null ? 'the default queue of the app' : 'this queue';
      throw refused('JOBS_UNKNOWN_REMOTE_QUEUE', 'batchQueue', `${of} '${chosen}' is not on system ${name}, ${known}`);
    }
    const obstacle = obstacleOf(queue, wanted);
    if (obstacle === null) return queue;
    throw refused('JOBS_INVALID_REMOTE_QUEUE_ASSIGNMENT', 'batchQueue', `${obstacle}, on system ${name}`);
  }
  if (queues.length === 0) return null;
  const inOrder = [...queues].sort(
    (left, right) => Number(right.default === true) - Number(left.default === true) || bySize(left, right),
  );
  const fitting = inOrder.find((queue) => obstacleOf(queue, wanted) === null);
  if (fitting !== undefined) return fitting;
  const obstacles = inOrder.map((queue) => obstacleOf(queue, wanted));
  throw refused('JOBS_NO_REMOTE_QUEUE', 'batchQueue', `no queue on system ${name} takes it: ${obstacles.join('; ')}`);
}

/** Why a job does not fit, by the codes with which Aloe says it; null when it does. */
function obstacleOf(queue: BatchQueue, { nodes, processors, memoryMb, seconds }: Wanted): string | null {
  const over = (code: string, most: number | undefined, asked: number | null, unit: string): string | null =>
    limit(most) !== null && asked !== null && asked > (most ?? 0)
      ? `JOBS_SYSQ_SKIP_MAX_${code} queue ${queue.name} takes at most ${most} ${unit}, not ${asked}`
      : null;
  return (
    over('NODES', queue.maxNodes, nodes, 'nodes') ??
    over('PROCS', queue.maxProcessorsPerNode, processors, 'processors on each node') ??
    over('MEM', queue.maxMemoryMb, memoryMb, 'MB on each node') ??
    over('HOURS', queue.maxSeconds, seconds, 'seconds')
  );
}

/** 0 and nothing are no limit. */
function limit(most: number | undefined): number | null {
  return most === undefined || most === 0 ? null : most;
}

/** Smaller ones first, so that large ones stay free for those who need them. */
function bySize(left: BatchQueue, right: BatchQueue): number {
  for (const of of ['maxNodes', 'maxProcessorsPerNode', 'maxMemoryMb', 'maxSeconds'] as const) {
    const difference = (limit(left[of]) ?? Infinity) - (limit(right[of]) ?? Infinity);
    if (difference < 0 || difference > 0) return difference;
  }
  return left.name < right.name ? -1 : 1;
}
