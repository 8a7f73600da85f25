import { createPrivateKey } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { generateKeyPair } from '@muster/signing';
import { adaptively } from './adaptive.js';
import { type Batches, startBatches } from './batches.js';
import type { OutputLoadOptions } from './output-load.js';
import { answerOf, type Credentials, signedCall } from './signed-call.js';
import type { TaskLoadOptions } from './task-load.js';

export interface SimulatedNodesOptions {
  /** Base URL of the REST API. */
  readonly server: string;
  readonly org: string;
  readonly count: number;
  /** Who registers the nodes: needs `org:admin`. */
  readonly admin: Credentials;
  /** Nodes are called PREFIX-00000 and so on. Default `sim`. */
  readonly prefix?: string;
  /** Default: one per processor. */
  readonly processes?: number;
  /** Requests in flight at once, while registering and configuring: fewer where the server is busy. Default 32. */
  readonly parallel?: number;
  /** Tasks that they offer to run; absent: none. */
  readonly tasks?: TaskLoadOptions;
  /** What their commands write; absent: nothing, and they end at once. */
  readonly output?: OutputLoadOptions;
}

export interface SimulatedNodes {
  readonly names: readonly string[];
  stop(): Promise<void>;
}

export interface PreparedNodes extends SimulatedNodes {
  /** Resolves when all have connected; whether the server finds them available is its own business. */
  connect(): Promise<void>;
}

/** Nodes one process may hold: two open files each, and room for the rest. */
const NODES_PER_PROCESS = 8_000;
const NAME_DIGITS = 5;
const PARALLEL = 32;

/**
 * Registers `count` nodes and makes them ready to connect, each on a CURVE connection of its own, from child
 * processes. They answer every command with success at once (see `noOp`), and run tasks if they are to (see `TaskLoad`); they heartbeat as the server's configuration says,
 * and come back to a server that was restarted. All share one RSA key, because making thousands takes minutes; session
 * and CURVE keys are their own. The nodes of a process share one subscription to the server's heartbeat.
 */
export async function prepareSimulatedNodes(options: SimulatedNodesOptions): Promise<PreparedNodes> {
  const { server, org, count } = options;
  const parallel = options.parallel ?? PARALLEL;
  const names = Array.from({ length: count }, (_, n) => nodeName(options.prefix ?? 'sim', n));
  const { publicKey, privateKey } = await generateKeyPair();
  const { admin } = options;
  const registrar =
    typeof admin.privateKey === 'string' ? { ...admin, privateKey: createPrivateKey(admin.privateKey) } : admin;
  await adaptively(names, parallel, (name, attempt) => register(options, registrar, name, publicKey, attempt));
  const wanted = options.processes ?? availableParallelism();
  const processes = Math.max(1, Math.min(count, Math.max(wanted, Math.ceil(count / NODES_PER_PROCESS))));
  const size = Math.ceil(count / processes);
  const batches = startBatches(
    Array.from({ length: processes }, (_, n) => ({
      kind: 'configured' as const,
      server,
      org,
      names: names.slice(n * size, (n + 1) * size),
      privateKey,
      parallel: Math.ceil(parallel / processes),
      ...(options.tasks === undefined ? {} : { tasks: options.tasks }),
      ...(options.output === undefined ? {} : { output: options.output }),
    })),
  );
  return stoppedUnless(batches, async () => {
    await batches.ready;
    return {
      names,
      connect: () => stoppedUnless(batches, () => batches.connect()),
      stop: () => batches.stop(),
    };
  });
}

/** The same, connected. */
export async function startSimulatedNodes(options: SimulatedNodesOptions): Promise<SimulatedNodes> {
  const nodes = await prepareSimulatedNodes(options);
  await nodes.connect();
  return nodes;
}

async function stoppedUnless<T>(batches: Batches, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    await batches.stop();
    throw error;
  }
}

export function nodeName(prefix: string, n: number): string {
  return `${prefix}-${String(n).padStart(NAME_DIGITS, '0')}`;
}

async function register(
  options: SimulatedNodesOptions,
  registrar: Credentials,
  name: string,
  publicKey: string,
  attempt: number,
): Promise<void> {
  const path = `/organizations/${options.org}/nodes`;
  const answer = await answerOf(
    `registering ${name}`,
    signedCall(options.server, registrar, 'POST', path, { name, public_key: publicKey }),
  );
  // Its answer was lost, and it was carried out.
  if (attempt > 1 && answer.status === 409) return;
  if (answer.status !== 201 && answer.status !== 200) {
    throw new Error(`registering ${name}: ${answer.status} ${answer.text}`);
  }
}
