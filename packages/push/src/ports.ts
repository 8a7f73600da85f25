import type { Clock } from '@muster/base';
import type { NodeRegistry } from '@muster/nodes';
import type { Organization } from '@muster/platform/auth';
import type { ServerConfig } from '@muster/platform/config';
import type { Recordable, Recorder } from '@muster/platform/log';
import type { LiveReaders, OutputFollowers } from '@muster/platform/output';
import type { Store, Write } from '@muster/store';
import type { LiveJob } from './controller/live-job.js';
import type { Explanation } from './controller/why.js';
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
  /**
   * Lets a job go on that is held after a batch, or after failures; of what somebody has `seen` only that hold, so that who says it twice
   * lets nothing pass that nobody has looked at. Unless it is continued nothing is stored. Otherwise as `abort`.
   */
  continue(orgId: string, jobId: string, seen?: SeenHold | null, record?: readonly Write[]): Promise<Continued>;
  /** What an unfinished job and its nodes wait for; undefined: there is none of this id. */
  why(orgId: string, jobId: string): Explanation | undefined;
  /** Unfinished, or finished and still in its linger. */
  isLive(jobId: string): boolean;
  liveJobs(): readonly string[];
  /** Told after output of a node was stored, and after its status became final. */
  readonly outputFollowers: Pick<OutputFollowers, 'follow'>;
  /** Those who read everything that the nodes of a job write. */
  readonly outputReaders: Pick<LiveReaders, 'open' | 'close'>;
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

/** Which hold of a job somebody has seen. */
export interface SeenHold {
  /** Number of the batch. */
  readonly batch: number;
  /** Failures that were continued after before. */
  readonly excused: number;
}

export type Continued = 'continued' | 'not_held' | 'other_hold';

/** The controller with its life cycle; `start` loads unfinished jobs (Push Jobs §5.6) before routes are served. */
export interface PushControllerService extends PushController {
  load(): Promise<void>;
  /** Those that this server carries out now. */
  unfinished(): Iterable<Pick<LiveJob, 'org' | 'spec' | 'state' | 'tally'>>;
  stop(): Promise<void>;
}
