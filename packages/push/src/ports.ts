import type { Clock } from '@muster/base';
import type { NodeRegistry } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { Recordable, Recorder } from '@muster/platform/log';
import type { OutputFollowers } from '@muster/platform/output';
import type { Store, Write } from '@muster/store';
import type { LiveJob } from './controller/live-job.js';
import type { NodeOwners } from './ownership/types.js';
import type { FinalPushJobNodeStatus, PushJobSpec, PushJobStatus } from './types.js';

/** What the controller tells the feeds, besides the events, which they get from the log. */
export interface FeedPort {
  /** The job ended without `job_complete`: its live streams close. */
  ended(jobId: string): void;
}

export interface StartPushJob {
  readonly org: Organization;
  readonly jobId: string;
  readonly spec: PushJobSpec;
  readonly requester: string;
  readonly nodes: readonly string[];
  /** Listed in the job, but `nacked` with reason `permission denied` from the start (N13). */
  readonly denied: readonly string[];
  /** Its entries in the audit, stored in the commit that stores the job. */
  readonly record?: readonly Write[];
  /** Told besides, in the same commit. */
  readonly events?: readonly Recordable[];
}

/** What the routes need of the controller. */
export interface PushController {
  /** Resolves when the job is durable; rejects with `store_unavailable`, and then nothing was stored. */
  start(input: StartPushJob): Promise<void>;
  /**
   * Idempotent. False when the job had already finished. Resolves when the abort is durable, together with `record`;
   * rejects with `store_unavailable` when the server stops before.
   */
  abort(orgId: string, jobId: string, requester: string, record?: readonly Write[]): Promise<boolean>;
  /** Unfinished, or finished and still in its linger. */
  isLive(jobId: string): boolean;
  liveJobs(): readonly string[];
  /** Told after output of a node was stored, and after its status became final. */
  readonly outputFollowers: Pick<OutputFollowers, 'follow'>;
}

/** What the controller counts for whoever watches the server: called when it is stored. */
export interface PushCounts {
  jobEnded(status: PushJobStatus, durationMs: number): void;
  jobNodeEnded(status: FinalPushJobNodeStatus): void;
}

export interface PushLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** What the controller is made from. It reads through `store.read` with the functions of `repository.ts`. */
export interface PushControllerDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly logger: PushLog;
  readonly nodes: Pick<NodeRegistry, 'get' | 'send'>;
  readonly owners: NodeOwners;
  readonly feed: FeedPort;
  readonly counts: PushCounts;
  readonly config: ServerConfig;
}

/** The controller with its life cycle; `start` loads unfinished jobs (Push Jobs §5.6) before routes are served. */
export interface PushControllerService extends PushController {
  load(): Promise<void>;
  /** Those that this server carries out now. */
  unfinished(): Iterable<Pick<LiveJob, 'state' | 'tally'>>;
  stop(): Promise<void>;
}
