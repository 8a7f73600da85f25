// Made from /openapi.json by `npm run docs`.

/** GET /organizations/{org}/nodes/{node} */
export type NodeDetail = {
  readonly node_name: string;
  readonly status: "up" | "down";
  /** ISO 8601; when `status` last changed */
  readonly updated_at: string;
  /** Why it is in this state */
  readonly reason: string;
  /** `ssh`: it has no agent, and the server itself runs commands there */
  readonly via: "agent" | "ssh";
  readonly availability: "available" | "unavailable";
  /** ISO 8601; when its owner last changed, and with it its availability */
  readonly owner_since: string;
  readonly owner: "down" | "rehab" | "idle" | "job";
  /** The job that owns it */
  readonly job_id?: string;
  /** What its owner allows push jobs, as the node tells it; absent: it does not tell */
  readonly commands?: {
    readonly list: readonly ({
      /** The command as it is typed, or what a pattern is called */
      readonly name: string;
      /** Regular expression that the whole command must match; null: the name is the command */
      readonly pattern: string | null;
    })[];
    /** Entries that were too many, or too long, to be told */
    readonly omitted: number;
    /** Runs whatever is asked for */
    readonly any: boolean;
    readonly scripts: "any" | "signed" | "none";
    /** Takes files at some place */
    readonly uploads: boolean;
    /** Gives some files */
    readonly fetches: boolean;
  };
  /** Tasks that it runs at one time; absent: it takes none */
  readonly task_slots?: number;
  /** Tasks that it has */
  readonly tasks?: number;
  /** Plugins that it has */
  readonly plugins?: readonly (string)[];
  readonly state: string | null;
  readonly heard_at: string | null;
  readonly incarnation: string | null;
  readonly last_end: string | null;
  readonly dialect: string | null;
  /** ISO 8601 */
  readonly created_at: string;
  readonly facts: Readonly<Record<string, string | number | boolean>>;
  readonly labels: Readonly<Record<string, string | number | boolean>>;
};

/** GET /organizations/{org}/nodes/{node}/why */
export type NodeWhy = {
  readonly node_name: string;
  readonly available: boolean;
  readonly explanation: string;
};

/** GET /organizations/{org}/nodes/{node}/history */
export type NodeHistory = readonly ({
  /** Of its event: `after` for what comes next */
  readonly position: number;
  /** ISO 8601 */
  readonly at: string;
  readonly changes: readonly ({
    /** Name of the fact or label */
    readonly name: string;
    /** `fact` or `label` */
    readonly of: string;
    /** What it was; null: there was none */
    readonly from: string | number | boolean | null;
    /** What it is; null: there is none any more */
    readonly to: string | number | boolean | null;
  })[];
  /** How many changes more there were */
  readonly omitted: number;
})[];

/** GET /organizations/{org}/pushy/commands */
export type CommandCounts = {
  /** By name */
  readonly commands: readonly ({
    /** The command as it is typed, or what a pattern is called */
    readonly name: string;
    /** Regular expression that the whole command must match; null: the name is the command */
    readonly pattern: string | null;
    /** How many nodes allow it by this entry */
    readonly nodes: number;
  })[];
  /** How many further commands there are, which were not shown */
  readonly more: number;
  /** Nodes that were looked at */
  readonly nodes: number;
  /** Of them, those that tell what they allow */
  readonly told: number;
  /** Of these, those that run whatever is asked for */
  readonly any: number;
};

/** POST /organizations/{org}/pushy/jobs/preview */
export type JobPreview = {
  readonly count: number;
  /** By name; those of the page, as in all that follows */
  readonly nodes: readonly (string)[];
  /** Nodes the caller may not run commands on */
  readonly restricted: readonly (string)[];
  /** It would wait for others to agree, as a policy of approval wants it */
  readonly approval: boolean;
  /** Nodes that would not run it now, by name */
  readonly refusals: readonly ({
    readonly node_name: string;
    readonly why: "no_right" | "unknown" | "down" | "rehab" | "busy" | "not_allowed";
    /** The same for people */
    readonly reason: string;
  })[];
  /** Of the others, those that do not tell what they allow, or whose answer hangs on what only they know */
  readonly uncertain: readonly (string)[];
  /** Why it is not known, of each of these */
  readonly doubts: readonly ({
    readonly node_name: string;
    readonly reason: string;
  })[];
  /** Of all nodes, not of those of the page alone */
  readonly counts: {
    /** Nodes that would be asked */
    readonly asked: number;
    /** Of them, those that may refuse */
    readonly uncertain: number;
    /** Nodes that would refuse, or not be asked, by why */
    readonly no_right: number;
    readonly unknown: number;
    readonly down: number;
    readonly rehab: number;
    readonly busy: number;
    readonly not_allowed: number;
  };
  /** Whether enough would be ready, as things stand */
  readonly quorum: {
    /** Nodes that must be ready */
    readonly needed: number;
    /** Nodes that say that they can */
    readonly least: number;
    /** With those that may refuse, and those in use that are waited for (when_busy) */
    readonly most: number;
    /** perhaps: only with nodes that may refuse, or that are waited for */
    readonly verdict: "reachable" | "perhaps" | "unreachable";
    /** Nodes that are busy or in rehab are waited for, and refuse only when that took too long */
    readonly waits: boolean;
  };
  /** Nodes of each batch */
  readonly batches?: readonly (number)[];
  /** Between two batches (seconds) */
  readonly batch_pause?: number;
  readonly batch_confirm?: boolean;
};

/** POST /organizations/{org}/pushy/jobs */
export type JobStarted = {
  readonly id: string;
  readonly uri: string;
};

/** GET /organizations/{org}/pushy/jobs/{id}/why */
export type JobWhy = {
  /** What the job does or waits for, in sentences */
  readonly why: readonly (string)[];
  /** Nodes that have not ended, by name */
  readonly nodes: readonly ({
    readonly node_name: string;
    /** Status of the node in the job */
    readonly status: string;
    /** node: until it is free; vote: its answer; quorum: the other votes; turn: its start; start: that it says that it runs; end: the end of its command; abort: that it confirms the abort */
    readonly waits_for: "node" | "vote" | "quorum" | "turn" | "start" | "end" | "abort";
    readonly reason: string;
    /** The job that has the node now, when that is another one */
    readonly job_id: string | null;
    /** ISO 8601; since when the command runs, the node is waited for, or was asked; null: not known */
    readonly since: string | null;
  })[];
};

/** GET /organizations/{org}/queues */
export type Queues = readonly ({
  /** 24 hex digits */
  readonly id: string;
  /** Unique in the organization */
  readonly name: string;
  /** What runs its tasks, as agents call it */
  readonly plugin: string;
  /** `draining`: it works off what it has, and takes no more */
  readonly state: "open" | "paused" | "draining";
  /** Tasks at one time, on all nodes together; null: no limit */
  readonly threads: number | null;
  /** Which waiting task comes first, besides its priority */
  readonly sort: "fifo" | "lifo" | "default";
  /** Selector of the nodes that may run its tasks; null: all */
  readonly nodes: string | null;
  /** Selector of the nodes that may not */
  readonly ignore_nodes: string | null;
  /** Its share of the slots of a node beside other queues */
  readonly weight: number;
  /** Parameter whose value is the key of a task, and how many tasks of one key run at one time */
  readonly key: {
    readonly param: string;
    readonly limit: number;
  } | null;
  /** Most tasks that are assigned in so many seconds */
  readonly rate: {
    readonly tasks: number;
    readonly seconds: number;
  } | null;
  /** When a task that failed is run again; the wait is doubled each time */
  readonly retry: {
    /** How often, after the first run */
    readonly limit: number;
    /** Before the first (seconds) */
    readonly first: number;
    /** At most (seconds) */
    readonly longest: number;
  };
  /** How often a task is queued again whose node was lost */
  readonly orphan_retries: number;
  /** Seconds that one run may take; null: no limit */
  readonly timeout: number | null;
  /** Most bytes kept of each stream of output */
  readonly output_limit: number;
  /** Seconds that tasks are kept after they ended; null: as the server says; 0: for ever */
  readonly keep: number | null;
  /** Names of secrets, by what its plugin finds each as: the file `$MUSTER_SECRETS/NAME`. With the rights of whoever sets them, or changes its plugin, nodes or writers afterwards; null: none */
  readonly secrets: Readonly<Record<string, string>> | null;
  /** Who may add tasks and act on them, besides `task_writers`: users, `group:NAME`, `client:NAME` */
  readonly writers: readonly (string)[];
  /** Who may look, besides `task_readers`; as `writers` */
  readonly readers: readonly (string)[];
  /** ISO 8601 */
  readonly created_at: string;
  /** ISO 8601 */
  readonly updated_at: string;
  /** Its tasks by status */
  readonly counts: {
    readonly held: number;
    readonly orphaned: number;
    readonly cancelled: number;
    readonly blocked: number;
    readonly terminated: number;
    readonly queued: number;
    readonly claimed: number;
    readonly running: number;
    readonly succeeded: number;
    readonly failed: number;
  };
  readonly ended_last_minute: number;
  readonly oldest_waiting: string | null;
  /** Why nothing is assigned though something waits; empty while it moves */
  readonly why: readonly (string)[];
})[];

/** GET /organizations/{org}/disbatch/balance */
export type Balance = {
  /** Of all queues together, by day of the week and time: `* 07:00` is every day, `0 07:00` Sundays */
  readonly max_tasks?: Readonly<Record<string, number>>;
  /** Groups of queues, the least urgent first: it gets what is left */
  readonly queues?: readonly (readonly (string)[])[];
  /** Until when nothing is balanced, in seconds since 1970; null: it is */
  readonly disabled?: number | null;
  /** Of the last round */
  readonly status?: "OK" | "WARNING" | "CRITICAL";
  readonly message?: string;
  /** Of the last round, in seconds since 1970 */
  readonly timestamp?: number;
  /** That there is no plan yet */
  readonly notice?: string;
  readonly known_queues: readonly (string)[];
  readonly settings: {
    /** The server balances */
    readonly enabled: boolean;
    /** It changes no queue */
    readonly pretend: boolean;
  };
};

/** GET /organizations/{org}/tasks */
export type Tasks = {
  readonly tasks: readonly ({
    /** 24 hex digits; later ones are greater */
    readonly id: string;
    /** Name; null: the queue is gone */
    readonly queue: string | null;
    readonly queue_id: string;
    readonly plugin: string | null;
    readonly params: Readonly<Record<string, unknown>>;
    readonly status: "held" | "orphaned" | "cancelled" | "blocked" | "terminated" | "queued" | "claimed" | "running" | "succeeded" | "failed";
    /** Status code */
    readonly code: number;
    readonly node: string | null;
    readonly attempt: number;
    readonly failures: number;
    readonly orphanings: number;
    readonly priority: number;
    readonly key: string | null;
    readonly requester: string;
    readonly reason: string | null;
    readonly cancelling: boolean;
    /** Tasks that must succeed first */
    readonly waits_for: number;
    readonly not_before: string | null;
    readonly expires_at: string | null;
    /** ISO 8601 */
    readonly ctime: string;
    /** ISO 8601 */
    readonly mtime: string;
    readonly started: string | null;
    readonly ended: string | null;
    readonly exit_code: number | null;
    readonly signal: string | null;
    /** Whether all its output was kept; null until it ended */
    readonly complete: boolean | null;
  })[];
  /** `after` of the next request; an answer may be short, or empty, and yet not the last. Null: it is */
  readonly next: string | null;
};

/** GET /organizations/{org}/tasks/{id} */
export type Task = {
  /** 24 hex digits; later ones are greater */
  readonly id: string;
  /** Name; null: the queue is gone */
  readonly queue: string | null;
  readonly queue_id: string;
  readonly plugin: string | null;
  readonly params: Readonly<Record<string, unknown>>;
  readonly status: "held" | "orphaned" | "cancelled" | "blocked" | "terminated" | "queued" | "claimed" | "running" | "succeeded" | "failed";
  /** Status code */
  readonly code: number;
  readonly node: string | null;
  readonly attempt: number;
  readonly failures: number;
  readonly orphanings: number;
  readonly priority: number;
  readonly key: string | null;
  readonly requester: string;
  readonly reason: string | null;
  readonly cancelling: boolean;
  /** Tasks that must succeed first */
  readonly waits_for: number;
  readonly not_before: string | null;
  readonly expires_at: string | null;
  /** ISO 8601 */
  readonly ctime: string;
  /** ISO 8601 */
  readonly mtime: string;
  readonly started: string | null;
  readonly ended: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  /** Whether all its output was kept; null until it ended */
  readonly complete: boolean | null;
  /** What was said of it when it was added */
  readonly options: Readonly<Record<string, unknown>>;
  /** Ids of the tasks it waits for, or waited for */
  readonly after: readonly (string)[];
  readonly progress: {
    readonly fraction: number;
    readonly text: string;
  } | null;
  /** In sentences */
  readonly why: readonly (string)[];
};

/** GET /organizations/{org}/tasks/{id}/attempts */
export type TaskAttempts = readonly ({
  readonly attempt: number;
  readonly node: string | null;
  readonly status: "held" | "orphaned" | "cancelled" | "blocked" | "terminated" | "queued" | "claimed" | "running" | "succeeded" | "failed";
  readonly code: number;
  readonly reason: string | null;
  readonly started: string | null;
  readonly ended: string | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
})[];

/** POST /organizations/{org}/tasks/actions */
export type TasksActedOn = {
  /** Tasks that it is about */
  readonly matched: number;
  readonly acted: number;
  /** Tasks that stayed as they were, by reason */
  readonly refused: readonly ({
    readonly reason: string;
    readonly tasks: number;
    /** Id of one of them */
    readonly first: string;
  })[];
  /** Ids of the first tasks that it is about, if there is a selector */
  readonly sample: readonly (string)[];
  /** Id of the last task that it is about, if there is a selector */
  readonly last: string | null;
  /** There are more: `after` of the next request */
  readonly next: string | null;
};

/** GET /organizations/{org}/tasks/bulk/{bulk} */
export type BulkRun = {
  readonly id: string;
  readonly action: "retry" | "cancel" | "hold" | "release" | "remove";
  readonly queue_id: string | null;
  readonly where: string | null;
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly reason: string | null;
  /** Who wanted it */
  readonly by: string;
  readonly counted: number | null;
  /** Tasks that were looked at until now */
  readonly matched: number;
  readonly acted: number;
  /** Tasks that stayed as they were, by reason */
  readonly refused: readonly ({
    readonly reason: string;
    readonly tasks: number;
    /** Id of one of them */
    readonly first: string;
  })[];
  /** ISO 8601 */
  readonly created_at: string;
  readonly ended_at: string | null;
};

/** GET /organizations/{org}/schedules */
export type Schedules = readonly ({
  readonly id: string;
  readonly name: string;
  /** Minute, hour, day of the month, month, day of the week: `0 3 * * mon-fri`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly` */
  readonly cron: string;
  /** Whose clocks that means, such as `Europe/Berlin`; `UTC` unless given */
  readonly timezone: string;
  /** Times at which the server was not there: `run-once` makes up for the last of them (as it is unless given), `skip` for none */
  readonly missed: "run-once" | "skip";
  /** When the run before goes on: `skip` leaves the time out (as it is unless given), `queue` runs when it has ended (one waits at most), `allow` runs beside it */
  readonly overlap: "allow" | "skip" | "queue";
  /** Names of calendars: nothing is run at their times; none unless given */
  readonly not_during: readonly (string)[];
  /** What becomes of a time that falls into one of these calendars: `skip` leaves it out (as it is unless given), `wait` runs it at the end, once */
  readonly blackout: "skip" | "wait";
  /** `held`: it cannot run, as `reason` says, until somebody changes or resumes it */
  readonly state: "active" | "paused" | "held";
  readonly reason: string | null;
  readonly kind: "task" | "push";
  /** Name of the queue of its tasks, while there is one */
  readonly queue: string | null;
  /** Of its push jobs, the beginning */
  readonly command: string | null;
  /** For whom it runs, with their rights: whoever made or last changed it */
  readonly owner: string;
  /** Id of the approval by which it was granted exactly as it is, so that its runs wait for nobody unless policies want something else since */
  readonly approval: string | null;
  readonly next_run: string | null;
  /** The time of a run that waits for the end of the last one, or of a calendar */
  readonly waiting_since: string | null;
  readonly waiting_for: {
    readonly calendar: string;
    /** When it runs if the calendar stays as it is */
    readonly until: string;
  } | null;
  readonly last_run: {
    readonly due_at: string;
    readonly started_at: string;
    readonly task: string | null;
    readonly job: string | null;
    /** Of the task or push job now; null: it was deleted */
    readonly status: string | null;
  } | null;
  /** The last time at which nothing was run */
  readonly last_missed: {
    readonly due_at: string;
    readonly reason: string;
  } | null;
  readonly created_at: string;
  readonly updated_at: string;
})[];

/** GET /organizations/{org}/schedules/{schedule} */
export type Schedule = {
  readonly id: string;
  readonly name: string;
  /** Minute, hour, day of the month, month, day of the week: `0 3 * * mon-fri`; or `@hourly`, `@daily`, `@weekly`, `@monthly`, `@yearly` */
  readonly cron: string;
  /** Whose clocks that means, such as `Europe/Berlin`; `UTC` unless given */
  readonly timezone: string;
  /** Times at which the server was not there: `run-once` makes up for the last of them (as it is unless given), `skip` for none */
  readonly missed: "run-once" | "skip";
  /** When the run before goes on: `skip` leaves the time out (as it is unless given), `queue` runs when it has ended (one waits at most), `allow` runs beside it */
  readonly overlap: "allow" | "skip" | "queue";
  /** Names of calendars: nothing is run at their times; none unless given */
  readonly not_during: readonly (string)[];
  /** What becomes of a time that falls into one of these calendars: `skip` leaves it out (as it is unless given), `wait` runs it at the end, once */
  readonly blackout: "skip" | "wait";
  /** `held`: it cannot run, as `reason` says, until somebody changes or resumes it */
  readonly state: "active" | "paused" | "held";
  readonly reason: string | null;
  readonly kind: "task" | "push";
  /** Name of the queue of its tasks, while there is one */
  readonly queue: string | null;
  /** Of its push jobs, the beginning */
  readonly command: string | null;
  /** For whom it runs, with their rights: whoever made or last changed it */
  readonly owner: string;
  /** Id of the approval by which it was granted exactly as it is, so that its runs wait for nobody unless policies want something else since */
  readonly approval: string | null;
  readonly next_run: string | null;
  /** The time of a run that waits for the end of the last one, or of a calendar */
  readonly waiting_since: string | null;
  readonly waiting_for: {
    readonly calendar: string;
    /** When it runs if the calendar stays as it is */
    readonly until: string;
  } | null;
  readonly last_run: {
    readonly due_at: string;
    readonly started_at: string;
    readonly task: string | null;
    readonly job: string | null;
    /** Of the task or push job now; null: it was deleted */
    readonly status: string | null;
  } | null;
  /** The last time at which nothing was run */
  readonly last_missed: {
    readonly due_at: string;
    readonly reason: string;
  } | null;
  readonly created_at: string;
  readonly updated_at: string;
  /** Its next five times at which it runs, as calendars are now; none while it does not run */
  readonly next_runs: readonly (string)[];
  readonly task: Readonly<Record<string, unknown>> | null;
  readonly push: Readonly<Record<string, unknown>> | null;
};

/** GET /organizations/{org}/schedules/{schedule}/runs */
export type ScheduleRuns = readonly ({
  /** When it was started, or seen to be missed, ISO 8601 */
  readonly at: string;
  /** The time that it was due; of several that were missed together the last */
  readonly due_at: string;
  /** Whether something was started */
  readonly outcome: "started" | "missed";
  readonly task: string | null;
  readonly job: string | null;
  readonly status: string | null;
  /** How many times it stands for; 100 also for more */
  readonly count: number;
  readonly reason: string | null;
})[];

/** GET /organizations/{org}/rules */
export type Rules = readonly ({
  readonly name: string;
  readonly on: string;
  readonly at_most: {
    readonly runs: number;
    readonly seconds: number;
  };
  readonly not_during: readonly (string)[];
  readonly blackout: string;
  readonly enabled: boolean;
  /** `each` or `once` */
  readonly asks: string;
  /** Id of the approval by which it was granted exactly as it is, so that its runs wait for nobody while its runbook is of that version */
  readonly approval: string | null;
  /** `runbook`, `task` or `job` */
  readonly kind: string;
  readonly runbook: {
    readonly name: string;
    readonly parameters: Readonly<Record<string, string | number>>;
    readonly node: string | null;
  } | null;
  readonly task: Readonly<Record<string, unknown>> | null;
  readonly job: Readonly<Record<string, unknown>> | null;
  /** With whose rights it acts: whoever made or changed it last */
  readonly owner: string;
  /** Events for which nothing was started: too many, or from its own runs */
  readonly skipped: number;
  /** ISO 8601 */
  readonly created_at: string;
  /** ISO 8601 */
  readonly updated_at: string;
})[];

/** GET /organizations/{org}/rules/{rule}/runs */
export type RuleRuns = readonly ({
  /** Of the event */
  readonly position: number;
  /** ISO 8601 */
  readonly at: string;
  /** Its type */
  readonly event: string;
  /** `asked`: others have to agree before it is started; `denied`, `expired`: they did not; `skipped`: for a calendar; `waiting`: for one, or for the queue of jobs */
  readonly outcome: "started" | "asked" | "denied" | "expired" | "failed" | "skipped" | "waiting";
  readonly kind: string;
  readonly run: string | null;
  readonly reason: string | null;
  readonly held_until: string | null;
})[];

/** GET /organizations/{org}/pushy/jobs/{id}/results */
export type JobResults = {
  /** How many there are now */
  readonly groups: number;
  /** Nodes that have a result */
  readonly nodes: number;
  readonly results: readonly ({
    /** Among all groups of the job, from 1 */
    readonly position: number;
    /** Names the group within the job: made of the result */
    readonly group: string;
    /** Nodes with this result */
    readonly count: number;
    /** The first 10 of them by name */
    readonly nodes: readonly (string)[];
    readonly status: string;
    readonly reason: string | null;
    readonly exit_code: number | null;
    readonly signal: string | null;
    readonly output_missing: string | null;
    /** How it begins: at most 2048 bytes */
    readonly stdout: {
      readonly bytes: number | null;
      readonly kept_bytes: number | null;
      readonly text?: string;
      /** In the place of text, where it is not UTF-8 */
      readonly base64?: string;
    };
    /** How it begins: at most 2048 bytes */
    readonly stderr: {
      readonly bytes: number | null;
      readonly kept_bytes: number | null;
      readonly text?: string;
      /** In the place of text, where it is not UTF-8 */
      readonly base64?: string;
    };
  })[];
};

/** GET /organizations/{org}/jobs/v2/{id} */
export type LongJob = {
  /** `UUID-007` */
  readonly id: string;
  readonly name: string;
  readonly owner: string;
  /** Execution system */
  readonly systemId: string;
  /** `NAME-VERSION` */
  readonly appId: string;
  /** When a worker took it first; ISO 8601 */
  readonly created: string | null;
  /** How it stands, as docs/guide/jobs.md tells */
  readonly status: "ACCEPTED" | "PENDING" | "PROCESSING_INPUTS" | "STAGING_INPUTS" | "STAGED" | "STAGING_JOB" | "SUBMITTING" | "QUEUED" | "RUNNING" | "CLEANING_UP" | "ARCHIVING" | "BLOCKED" | "PAUSED" | "FINISHED" | "STOPPED" | "FAILED";
  /** When its program began; ISO 8601 */
  readonly remoteStarted: string | null;
  /** When it ended; ISO 8601 */
  readonly ended: string | null;
  /** Organization */
  readonly tenantId: string;
  /** Submission queue, whole */
  readonly tenantQueue: string;
  readonly lastStatusMessage: string;
  /** When it was accepted; ISO 8601 */
  readonly accepted: string;
  /** When it was changed last; ISO 8601 */
  readonly lastUpdated: string;
  /** Of its owner, as the token said */
  readonly roles: string | null;
  readonly appUuid: string;
  /** Where it works */
  readonly workPath: string | null;
  /** Whether what it writes is kept */
  readonly archive: boolean;
  /** Also when its program fails */
  readonly archiveOnAppError: boolean;
  /** With macros until it starts */
  readonly archivePath: string | null;
  readonly archiveSystem: string | null;
  readonly nodeCount: number;
  readonly processorsPerNode: number;
  /** GB */
  readonly memoryPerNode: number;
  /** How long its program may run */
  readonly maxHours: number;
  /** By the ids of the app */
  readonly inputs: Readonly<Record<string, unknown>>;
  /** By the ids of the app */
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly remoteJobId: string | null;
  readonly schedulerJobId: string | null;
  /** Batch queue */
  readonly remoteQueue: string | null;
  /** When the system took it; ISO 8601 */
  readonly remoteSubmitted: string | null;
  /** When its program ended; ISO 8601 */
  readonly remoteEnded: string | null;
  /** How its program ended */
  readonly remoteOutcome: "FINISHED" | "FAILED" | "FAILED_SKIP_ARCHIVE" | null;
  /** Of its program */
  readonly exitCode: number | null;
  /** Why it ended, or what it waits for */
  readonly condition: string | null;
  /** Times that it was submitted again */
  readonly submitRetries: number;
  /** Times that its system was asked */
  readonly remoteStatusChecks: number;
  /** Those of them that were not answered */
  readonly failedStatusChecks: number;
  /** When its system was asked last; ISO 8601 */
  readonly lastStatusCheck: string | null;
  /** Times that it was blocked */
  readonly blockedCount: number;
  /** false: it is hidden from lists */
  readonly visible: boolean;
  readonly _links: {
    readonly self: {
      /** Absolute */
      readonly href: string;
    };
    readonly app: {
      /** Absolute */
      readonly href: string;
    };
    readonly executionSystem: {
      /** Absolute */
      readonly href: string;
    };
    readonly archiveSystem?: {
      /** Absolute */
      readonly href: string;
    };
    readonly archiveData: {
      /** Absolute */
      readonly href: string;
    };
    readonly permissions: {
      /** Absolute */
      readonly href: string;
    };
    readonly history: {
      /** Absolute */
      readonly href: string;
    };
    readonly notifications: {
      /** Absolute */
      readonly href: string;
    };
  };
};

/** GET /organizations/{org}/jobs/v2/{id}/history */
export type LongJobHistory = readonly ({
  /** Unique in the history of its job */
  readonly id: string;
  /** A status, or what else happened to it, such as PERMISSION_GRANT */
  readonly status: string;
  /** When it happened; ISO 8601 */
  readonly created: string;
  /** Who did it */
  readonly createdBy: string;
  /** The same for people */
  readonly description: string;
})[];

/** GET /organizations/{org}/job-recovery/jobs/{id}/why */
export type LongJobWhy = {
  readonly why: readonly (string)[];
  /** What it waits for while it is blocked */
  readonly recovery: {
    readonly id: string;
    readonly condition: string;
    readonly tester: string;
    readonly parameters: Readonly<Record<string, string>>;
    readonly policy: string;
    readonly policy_parameters: Readonly<Record<string, string>>;
    /** Tests that were not passed */
    readonly attempts: number;
    readonly last_answer: string | null;
    readonly next_test: string | null;
    readonly since: string | null;
    readonly gives_up: string | null;
    /** Jobs that wait for it */
    readonly jobs: number;
  } | null;
};

/** GET /organizations/{org}/jobs/v2/{id}/outputs/listings */
export type LongJobOutputs = readonly ({
  readonly name: string;
  /** Below the job's folder */
  readonly path: string;
  /** ISO 8601 */
  readonly lastModified: string;
  /** Bytes */
  readonly length: number;
  /** Such as READ_WRITE */
  readonly permission: string;
  /** The same */
  readonly permissions: string;
  readonly mimeType: string;
  /** `folder` or `unknown` */
  readonly format: string;
  /** `dir` or `file` */
  readonly type: string;
  readonly _links: Readonly<Record<string, {
    readonly href: string;
  }>>;
})[];

/** GET /organizations/{org}/jobs/v2/{id}/pems */
export type LongJobShares = readonly ({
  readonly username: string;
  readonly internalUsername: null;
  readonly permission: {
    readonly read: boolean;
    readonly write: boolean;
    readonly execute: boolean;
  };
  readonly _links: {
    readonly self: {
      readonly href: string;
    };
    readonly parent: {
      readonly href: string;
    };
  };
})[];

/** GET /organizations/{org}/job-queues */
export type JobQueues = readonly ({
  readonly uuid: string | null;
  /** Whole: aloe.jobq.TENANT.submit.NAME */
  readonly name: string;
  readonly tenantId: string;
  /** Higher ones are asked first */
  readonly priority: number;
  readonly filter: string;
  readonly created: string | null;
  readonly lastUpdated: string | null;
})[];

/** GET /organizations/{org}/job-queues/stats */
export type JobQueueStats = readonly ({
  readonly name: string;
  /** Jobs that wait for a worker; null: the broker has no such queue */
  readonly ready: number | null;
  /** Jobs that workers work on */
  readonly held: number;
  /** Of the workers that take its jobs: how many they work on at most */
  readonly slots: number;
  /** That have not ended, by status */
  readonly jobs: Readonly<Record<string, number>>;
})[];

/** GET /organizations/{org}/job-workers */
export type JobWorkers = readonly ({
  /** New at every start */
  readonly id: string;
  readonly name: string;
  readonly host: string;
  /** Whole */
  readonly queue: string;
  readonly slots: number;
  /** lost: it says nothing any more */
  readonly state: "running" | "quiescing" | "suspended" | "stopped" | "lost";
  /** That it works on */
  readonly jobs: number;
  readonly started: string;
  readonly version: string;
})[];

/** GET /organizations/{org}/job-recovery */
export type JobRecovery = readonly ({
  readonly id: string;
  readonly condition: string;
  readonly tester: string;
  readonly parameters: Readonly<Record<string, string>>;
  readonly policy: string;
  readonly policy_parameters: Readonly<Record<string, string>>;
  /** Tests that were not passed */
  readonly attempts: number;
  readonly last_answer: string | null;
  readonly next_test: string | null;
  readonly since: string | null;
  readonly gives_up: string | null;
  /** Jobs that wait for it */
  readonly jobs: number;
})[];

/** GET /organizations/{org}/job-messages */
export type JobMessages = readonly ({
  readonly id: string;
  readonly kind: "alternate" | "dead-letter";
  readonly exchange: string;
  readonly routing_key: string;
  readonly reason: string | null;
  /** Bytes of its body */
  readonly length: number;
  readonly at: string;
})[];

/** GET /organizations/{org}/audit */
export type AuditEntries = readonly ({
  readonly id: number;
  /** ISO 8601 */
  readonly at: string;
  /** Who did it */
  readonly actor: string;
  /** What the actor is; `claimed`: nobody proved to be that */
  readonly actor_kind: "user" | "node" | "service" | "server" | "claimed";
  /** Where the request came from, if it is known */
  readonly address: string | null;
  readonly action: string;
  readonly target: string;
  /** failed: the server tried it by itself, for somebody, and could not; forged: it was found in the database, and no server wrote it as it stands */
  readonly outcome: "done" | "denied" | "failed" | "forged";
  readonly detail: Readonly<Record<string, string | number | boolean | null>>;
})[];

/** GET /organizations/{org}/access */
export type Access = readonly ({
  readonly kind: "user" | "service";
  readonly name: string;
  readonly server_admin: boolean;
  /** That name them */
  readonly groups: readonly (string)[];
  /** With a grant that they have, also through groups */
  readonly node_groups: readonly (string)[];
  /** What they may do whatever a route names; a node, a queue or a job may allow more */
  readonly permissions: readonly ({
    readonly permission: string;
    /** Each is enough; none: only all together */
    readonly by: readonly ({
      /** member: whoever belongs to the organization has it; node_group: by a grant that names them */
      readonly kind: "member" | "server_admin" | "group" | "node_group";
      /** Of the group */
      readonly name: string | null;
    })[];
  })[];
})[];

/** GET /organizations/{org}/nodes/{node}/who */
export type WhoMayRun = {
  readonly node_name: string;
  /** Node groups with grants that it is in */
  readonly restricted_by: readonly (string)[];
  readonly principals: readonly ({
    readonly kind: "user" | "service";
    readonly name: string;
    readonly may: boolean;
    /** For people */
    readonly why: string;
  })[];
};

/** GET /organizations/{org}/groups */
export type Groups = readonly ({
  readonly name: string;
  /** Admins hold what the group gives only as members */
  readonly exclusive: boolean;
  readonly users: readonly (string)[];
  readonly clients: readonly (string)[];
  readonly groups: readonly (string)[];
})[];

/** GET /organizations/{org}/node_groups */
export type NodeGroups = readonly ({
  readonly name: string;
  readonly nodes: readonly (string)[] | null;
  readonly query: string | null;
  readonly execute: {
    readonly users: readonly (string)[];
    readonly clients: readonly (string)[];
    readonly groups: readonly (string)[];
  };
})[];

/** GET /organizations/{org}/sessions */
export type Sessions = readonly ({
  readonly id: string;
  readonly user: string;
  /** How it was begun */
  readonly by: "link" | "token" | "password" | "provider";
  readonly address: string | null;
  /** ISO 8601 */
  readonly created_at: string;
  /** ISO 8601 */
  readonly last_seen_at: string;
  /** ISO 8601 */
  readonly expires_at: string;
  /** It is the one that asks */
  readonly current: boolean;
})[];

/** GET /organizations/{org}/login */
export type OfferedSignIns = readonly ({
  readonly name: string;
  readonly kind: "oidc";
  /** URL of the OpenID provider */
  readonly issuer: string;
  readonly client_id: string;
  readonly scope: string;
} | {
  readonly name: string;
  /** By name and password */
  readonly kind: "ldap";
})[];

/** GET /session */
export type Session = {
  readonly organization: string;
  readonly user: string;
  /** ISO 8601 */
  readonly expires_at: string;
  /** What the user may do in the organization whatever a route names, and what gives it; a node, a queue or a job may allow more. Routes that need a signed request take none of a browser */
  readonly permissions: readonly ({
    readonly permission: string;
    /** Each is enough; none: only all together */
    readonly by: readonly ({
      /** member: whoever belongs to the organization has it; node_group: by a grant that names them */
      readonly kind: "member" | "server_admin" | "group" | "node_group";
      /** Of the group */
      readonly name: string | null;
    })[];
  })[];
  /** All other permissions */
  readonly missing: readonly ({
    /** That is missing */
    readonly permission: string;
    /** Who has it, for people */
    readonly holders: string;
  })[];
};

/** POST /organizations/{org}/login/{name} */
export type SignInBegun = {
  /** Of the provider */
  readonly url: string;
};

/** GET /access_tokens */
export type AccessTokens = readonly ({
  readonly id: string;
  /** ISO 8601 */
  readonly expires_at: string;
  readonly created_by: string;
  /** ISO 8601 */
  readonly created_at: string;
  readonly user: string;
})[];

/** GET /organizations/{org}/tokens */
export type EnrolTokens = readonly ({
  readonly id: string;
  /** ISO 8601 */
  readonly expires_at: string;
  readonly created_by: string;
  /** ISO 8601 */
  readonly created_at: string;
  readonly uses_left: number;
})[];

/** GET /users/{name}/keys */
export type UserKeys = readonly ({
  readonly fingerprint: string;
  /** ISO 8601 */
  readonly created_at: string;
  /** Requests signed with it later are refused; null: never */
  readonly expires_at: string | null;
  readonly public_key: string;
})[];

/** GET /organizations/{org}/nodes/{node}/keys */
export type NodeKeys = readonly ({
  readonly fingerprint: string;
  /** ISO 8601 */
  readonly created_at: string;
  /** Requests signed with it later are refused; null: never */
  readonly expires_at: string | null;
  readonly public_key: string;
})[];

/** GET /cluster */
export type Cluster = {
  /** Name; null: this server is alone */
  readonly leader: string | null;
  /** Counts the changes of the leader */
  readonly epoch: number | null;
  /** By which the leader leads */
  readonly lease: {
    /** ISO 8601 */
    readonly renewed_at: string;
    /** Unless it is renewed. ISO 8601, by the clock of the leader */
    readonly ends_at: string;
  } | null;
  /** That are up, over all organizations */
  readonly nodes: number;
  /** Of all organizations */
  readonly work: {
    /** That have not ended */
    readonly push_jobs: number;
    readonly tasks_waiting: number;
    readonly tasks_running: number;
  };
  /** How long the database took to say who is there; null: this server is alone */
  readonly database_ms: number | null;
  /** Of jobs */
  readonly broker: {
    /** Whether it takes messages now */
    readonly connected: boolean;
    /** ISO 8601 */
    readonly since: string;
    /** Why not */
    readonly why: string | null;
  };
  readonly servers: readonly ({
    readonly name: string;
    /** Of its process: new at every start */
    readonly incarnation: string;
    /** Where the other servers reach it */
    readonly url: string;
    readonly version: string;
    /** `lost`: it has not been heard of for 15 seconds */
    readonly role: "leader" | "follower" | "lost";
    /** It shall not lead, nor have nodes */
    readonly drained: boolean;
    /** That were told to connect to it; null: none are, as the leader has no link with it */
    readonly nodes: number | null;
    /** ISO 8601 */
    readonly started_at: string;
    /** ISO 8601 */
    readonly seen_at: string;
  })[];
};

/** GET /organizations/{org}/counts */
export type Counts = {
  /** When each begins, ISO 8601, oldest first; the last is not over */
  readonly hours: readonly (string)[];
  /** Of types that are counted by status, those that there were */
  readonly counts: readonly ({
    /** Of the events */
    readonly type: string;
    /** How what they tell of ended; null: events of the type are counted together */
    readonly status: string | null;
    readonly total: number;
    /** As many as `hours` */
    readonly per_hour: readonly (number)[];
  })[];
  /** What is counted and the caller may not read */
  readonly left_out: readonly ({
    readonly type: string;
    /** That is missing */
    readonly permission: string;
    /** Who has it, for people */
    readonly holders: string;
  })[];
};

/** GET /organizations/{org}/search */
export type FoundThings = {
  /** Of each kind at most 5 */
  readonly found: readonly ({
    readonly kind: "node" | "push_job" | "runbook" | "queue" | "task" | "schedule" | "job" | "rule" | "user" | "service" | "group";
    /** By which the API knows it: of what has names, the name */
    readonly id: string;
    readonly name: string;
    /** How it stands, or what it is for */
    readonly more: string | null;
  })[];
  /** Kinds that the caller may not look at */
  readonly left_out: readonly ({
    readonly kind: "node" | "push_job" | "runbook" | "queue" | "task" | "schedule" | "job" | "rule" | "user" | "service" | "group";
    /** That is missing */
    readonly permission: string;
    /** Who has it, for people */
    readonly holders: string;
  })[];
};

/** GET /organizations/{org}/whoami */
export type WhoAmI = {
  readonly name: string;
  readonly kind: "user" | "node" | "service";
  readonly organization: string;
  /** Of the organization, also by way of others */
  readonly groups: readonly (string)[];
  readonly server_admin: boolean;
  /** What proves it: a signature, an access token, one that was got by signing in, or a session of the console */
  readonly by: "key" | "token" | "login" | "session";
  /** Where the user signed in */
  readonly issuer: string | null;
  readonly expires_at: string | null;
};

/** GET /organizations/{org}/runbooks */
export type Runbooks = readonly ({
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** Who made or last changed it: nodes are asked with their rights */
  readonly author: string;
  readonly created_at: string;
  readonly updated_at: string;
  /** The caller may run it */
  readonly runnable: boolean;
})[];

/** GET /organizations/{org}/runbooks/{runbook} */
export type Runbook = {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly description: string;
  /** Who made or last changed it: nodes are asked with their rights */
  readonly author: string;
  readonly created_at: string;
  readonly updated_at: string;
  /** As it was handed in */
  readonly definition: Readonly<Record<string, unknown>>;
  /** Of `runners` and `approval.by`: who is not there, or not yet, as people who have still to sign in */
  readonly unknown: readonly (string)[];
};

/** GET /organizations/{org}/runbooks/{runbook}/versions */
export type RunbookVersions = readonly ({
  readonly version: number;
  readonly author: string;
  readonly created_at: string;
})[];

/** POST /organizations/{org}/runbooks/{runbook}/preview */
export type RunbookPreview = {
  readonly name: string;
  readonly version: number;
  /** As the push job shows it */
  readonly command: string;
  /** As they are recorded: of a secret `***`, of a file its hash */
  readonly parameters: Readonly<Record<string, string>>;
  /** It would wait for a second person */
  readonly approval: boolean;
  readonly target: string;
  readonly nodes: readonly (string)[];
  /** Nodes the author may not run commands on */
  readonly restricted: readonly (string)[];
  /** Nodes that would not run it now, by name */
  readonly refusals: readonly ({
    readonly node_name: string;
    readonly why: "no_right" | "unknown" | "down" | "rehab" | "busy" | "not_allowed";
    /** The same for people */
    readonly reason: string;
  })[];
  /** Of the others, those that do not tell what they allow, or whose answer hangs on what only they know */
  readonly uncertain: readonly (string)[];
  /** Why it is not known, of each of these */
  readonly doubts: readonly ({
    readonly node_name: string;
    readonly reason: string;
  })[];
  /** Whether enough would be ready, as things stand */
  readonly quorum: {
    /** Nodes that must be ready */
    readonly needed: number;
    /** Nodes that say that they can */
    readonly least: number;
    /** With those that may refuse, and those in use that are waited for (when_busy) */
    readonly most: number;
    /** perhaps: only with nodes that may refuse, or that are waited for */
    readonly verdict: "reachable" | "perhaps" | "unreachable";
    /** Nodes that are busy or in rehab are waited for, and refuse only when that took too long */
    readonly waits: boolean;
  };
  /** Nodes of each batch */
  readonly batches?: readonly (number)[];
  /** Between two batches (seconds) */
  readonly batch_pause?: number;
  readonly batch_confirm?: boolean;
};

/** GET /organizations/{org}/approvals */
export type Approvals = readonly ({
  readonly id: string;
  readonly status: "pending" | "started" | "denied" | "expired";
  /** What is asked for: to start a push job or a run, or to make or change what starts them */
  readonly kind: "command" | "runbook" | "schedule" | "rule";
  /** Its name, of a run */
  readonly runbook: string | null;
  readonly version: number | null;
  /** Its name, of one that is made or changed */
  readonly schedule: string | null;
  /** Its name, of one that is made or changed */
  readonly rule: string | null;
  /** As the push job shows it */
  readonly command: string;
  /** Answered when it is started */
  readonly target: string;
  /** Of a secret `***`, of a file its hash */
  readonly parameters: Readonly<Record<string, string>>;
  /** Of everything that decides what would be started */
  readonly hash: string;
  readonly asked_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  /** Null while it waits, and when its time was over */
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly needs: readonly ({
    /** Who asks for it: a runbook, or a policy */
    readonly why: string;
    /** How many others have to agree */
    readonly grants: number;
    /** Who counts, and nobody else; none: those who have `push:write` */
    readonly by: readonly (string)[];
  })[];
  /** Who has, so far */
  readonly agreed: readonly ({
    readonly by: string;
    readonly at: string;
  })[];
  /** Why it was denied */
  readonly reason: string | null;
  /** Id of the push job that was started */
  readonly job: string | null;
})[];

/** GET /organizations/{org}/approvals/{id} */
export type Approval = {
  readonly id: string;
  readonly status: "pending" | "started" | "denied" | "expired";
  /** What is asked for: to start a push job or a run, or to make or change what starts them */
  readonly kind: "command" | "runbook" | "schedule" | "rule";
  /** Its name, of a run */
  readonly runbook: string | null;
  readonly version: number | null;
  /** Its name, of one that is made or changed */
  readonly schedule: string | null;
  /** Its name, of one that is made or changed */
  readonly rule: string | null;
  /** As the push job shows it */
  readonly command: string;
  /** Answered when it is started */
  readonly target: string;
  /** Of a secret `***`, of a file its hash */
  readonly parameters: Readonly<Record<string, string>>;
  /** Of everything that decides what would be started */
  readonly hash: string;
  readonly asked_by: string;
  readonly created_at: string;
  readonly expires_at: string;
  /** Null while it waits, and when its time was over */
  readonly decided_by: string | null;
  readonly decided_at: string | null;
  readonly needs: readonly ({
    /** Who asks for it: a runbook, or a policy */
    readonly why: string;
    /** How many others have to agree */
    readonly grants: number;
    /** Who counts, and nobody else; none: those who have `push:write` */
    readonly by: readonly (string)[];
  })[];
  /** Who has, so far */
  readonly agreed: readonly ({
    readonly by: string;
    readonly at: string;
  })[];
  /** Why it was denied */
  readonly reason: string | null;
  /** Id of the push job that was started */
  readonly job: string | null;
  /** Everything that decides what would be started, but for secrets; null once it is decided */
  readonly order: Readonly<Record<string, unknown>> | null;
  /** Whether the caller may agree to it, as long as it waits */
  readonly may_grant: boolean;
  /** Whether the caller may refuse it, or take it back, as long as it waits */
  readonly may_deny: boolean;
};

/** GET /organizations/{org}/job-messages/{id} */
export type JobMessage = {
  readonly id: string;
  readonly kind: "alternate" | "dead-letter";
  readonly exchange: string;
  readonly routing_key: string;
  readonly reason: string | null;
  /** Bytes of its body */
  readonly length: number;
  readonly at: string;
  /** As text; what is no UTF-8 is replaced */
  readonly body: string;
};
