import type { RetryPolicy } from '@muster/platform/outbound';
import type { Condition, JobState } from './machine.js';
import type { RemoteOutcome } from './status.js';

/** Values by the ids of an app's inputs: a path or URI, or several. */
export type InputValues = Readonly<Record<string, string | readonly string[]>>;
export type ParameterValue = string | number | boolean;
export type ParameterValues = Readonly<Record<string, ParameterValue | readonly ParameterValue[]>>;

/** What somebody asks of a job while another has it: stored first, then told. */
export type Wanted = 'stop' | 'pause' | 'resume';

/** Where a job's notifications go (sheet §1.2 and §9.5). */
export interface Subscription {
  readonly event: string;
  readonly url: string;
  readonly persistent: boolean;
  /** How often it is tried again; the usual one unless given. */
  readonly policy?: RetryPolicy;
}

/** What a job was accepted with: it never changes, but for what the routes of visibility change. */
export interface JobDefinition {
  /** `UUID-007`. */
  readonly uuid: string;
  readonly orgId: string;
  /** Name of the organization: Aloe's tenant. */
  readonly tenant: string;
  readonly name: string;
  readonly owner: string;
  readonly roles: string | null;
  /** The submission queue, whole: `aloe.jobq.TENANT.submit.NAME`. */
  readonly queue: string;
  /** `NAME-VERSION`. */
  readonly appId: string;
  readonly appUuid: string;
  /** Name of the execution system. */
  readonly systemId: string;
  readonly archive: boolean;
  readonly archiveOnAppError: boolean;
  readonly archiveSystem: string | null;
  readonly remoteQueue: string | null;
  readonly nodeCount: number;
  readonly processorsPerNode: number;
  readonly memoryMb: number;
  readonly maxSeconds: number;
  readonly inputs: InputValues;
  readonly parameters: ParameterValues;
  /** The body as it was sent, JSON: a resubmission is made from it. */
  readonly request: string;
  readonly accepted: number;
}

/** A job as it is stored. Times are milliseconds since the epoch. */
export interface Job extends JobDefinition, JobState {
  readonly lastMessage: string;
  readonly lastUpdated: number;
  /** Macros in it are resolved when the job starts (sheet §1.5). */
  readonly archivePath: string | null;
  readonly workPath: string | null;
  readonly remoteJobId: string | null;
  readonly schedulerJobId: string | null;
  readonly remoteEnded: number | null;
  readonly remoteOutcome: RemoteOutcome | null;
  readonly exitCode: number | null;
  /** What the scheduler says of its end: one of its conditions, such as SCHEDULER_TIMEOUT, and its own words. */
  readonly remoteCondition: string | null;
  readonly remoteDetail: string | null;
  readonly submitRetries: number;
  readonly statusChecks: number;
  readonly failedChecks: number;
  readonly lastCheck: number | null;
  readonly visible: boolean;
  readonly wanted: Wanted | null;
  /** The worker that has it, or had it last. */
  readonly worker: string | null;
  /** Counts the workers that took it: fences former ones. */
  readonly epoch: number;
  /** How many subscriptions to what happens to it were ever made. */
  readonly subscriptions: number;
}

/** Somebody whose request did something to a job. */
export interface Doer {
  readonly user: string;
  /** Where the request came from, as far as that is known. */
  readonly address: string | null;
}

/** Who did something to a job: by name alone when it was no request. */
export type By = string | Doer;

/** Why a job cannot go on now, though it may later: it becomes BLOCKED (sheet §7.1). */
export interface Obstacle {
  readonly condition: Condition;
  readonly message: string;
  readonly tester: string;
  /** Of the tester. Jobs with equal tester and parameters wait together. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** Thrown by whatever a phase does: the job is BLOCKED until the tester says that it may go on. */
export class Blocked extends Error {
  override readonly name = 'Blocked';
  readonly obstacle: Obstacle;

  constructor(obstacle: Obstacle, options?: ErrorOptions) {
    super(obstacle.message, options);
    this.obstacle = obstacle;
  }
}

/** Condition of a job whose program nobody knows anything of any more. */
export const UNKNOWN_END = 'JOB_EXECUTION_MONITORING_ERROR';

/** Thrown by whatever a phase does: the job fails, and trying again would not help. */
export class Failed extends Error {
  override readonly name = 'Failed';
  readonly condition: Condition;

  constructor(condition: Condition, message: string, options?: ErrorOptions) {
    super(message, options);
    this.condition = condition;
  }
}
