import type { Client } from '../../client.js';

/** Shapes of the API's answers about systems that the CLI reads: Agave's, with what that lacks. */

/** A system of a list. */
export interface SystemSummary {
  readonly id: string;
  readonly available: boolean;
  readonly default: boolean;
  readonly muster: {
    readonly type: 'local' | 'ssh' | 'agent' | 'tasks';
    readonly host: string | null;
    readonly node: string | null;
    readonly queue: string | null;
  };
}

/** A single system. */
export interface System extends SystemSummary {
  readonly owner: string;
  readonly scratchDir: string;
  readonly maxSystemJobs: number | null;
  readonly maxSystemJobsPerUser: number | null;
  readonly queues: readonly BatchQueue[];
  readonly login: {
    readonly host: string | null;
    readonly port: number | null;
    readonly auth: { readonly username: string | null };
  };
  readonly storage: { readonly rootDir: string };
  readonly muster: SystemSummary['muster'] & {
    readonly scheduler: string;
    readonly hostKey: string | null;
    readonly environment: Readonly<Record<string, string>>;
  };
}

export interface BatchQueue {
  readonly name: string;
  readonly default: boolean;
  readonly maxJobs: number | null;
  readonly maxUserJobs: number | null;
  readonly maxNodes: number | null;
  readonly maxProcessorsPerNode: number | null;
  readonly maxMemoryPerNode: string | null;
  readonly maxRequestedTime: string | null;
  readonly customDirectives: string;
}

/** A system as it is registered. */
export type Definition = Readonly<Record<string, unknown>>;

export function systemPath(client: Client, ...parts: readonly string[]): string {
  return client.inOrg('systems', 'v2', ...parts);
}

/** What would register the same again, but for what opens it, which is not shown and stays. */
export function definitionOf({ login, muster, ...system }: System): Definition {
  const { type, scheduler, node, queue, hostKey, environment } = muster;
  return {
    name: system.id,
    type,
    scheduler,
    root: system.storage.rootDir,
    scratch: system.scratchDir,
    max_jobs: system.maxSystemJobs,
    max_jobs_per_user: system.maxSystemJobsPerUser,
    queues: system.queues.map((one) => ({
      name: one.name,
      default: one.default,
      max_jobs: one.maxJobs,
      max_user_jobs: one.maxUserJobs,
      max_nodes: one.maxNodes,
      max_processors_per_node: one.maxProcessorsPerNode,
      max_memory: one.maxMemoryPerNode,
      max_run_time: one.maxRequestedTime,
      directives: one.customDirectives.split('\n').filter((line) => line !== ''),
    })),
    enabled: system.available,
    default: system.default,
    ...(type === 'ssh' && { host: login.host, port: login.port, user: login.auth.username, host_key: hostKey }),
    ...(type === 'agent' && { node }),
    ...(type === 'tasks' ? { queue } : { environment }),
  };
}
