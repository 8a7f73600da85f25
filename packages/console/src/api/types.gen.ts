// Made from /openapi.json by `npm run docs`.

/** GET /organizations/{org}/nodes/{node} */
export type NodeDetail = {
  readonly node_name: string;
  readonly status: "up" | "down";
  /** ISO 8601; when `status` last changed */
  readonly updated_at: string;
  /** Why it is in this state */
  readonly reason: string;
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
  readonly nodes: readonly (string)[];
  /** Nodes the caller may not run commands on */
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
    /** ISO 8601; since when the command runs */
    readonly since: string | null;
  })[];
};

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
      readonly text?: string;
      /** In the place of text, where it is not UTF-8 */
      readonly base64?: string;
    };
    /** How it begins: at most 2048 bytes */
    readonly stderr: {
      readonly bytes: number | null;
      readonly text?: string;
      /** In the place of text, where it is not UTF-8 */
      readonly base64?: string;
    };
  })[];
};
