/** Shapes of the API's answers about schedules that the CLI reads. */

/** A schedule of a list. */
export interface Schedule {
  readonly id: string;
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly missed: string;
  readonly overlap: string;
  readonly not_during: readonly string[];
  readonly blackout: string;
  readonly state: 'active' | 'held' | 'paused';
  readonly reason: string | null;
  readonly kind: 'push' | 'task';
  readonly queue: string | null;
  readonly command: string | null;
  readonly owner: string;
  readonly approval: string | null;
  readonly next_run: string | null;
  readonly waiting_since: string | null;
  readonly waiting_for: { readonly calendar: string; readonly until: string } | null;
  readonly last_run: {
    readonly due_at: string;
    readonly started_at: string;
    readonly task: string | null;
    readonly job: string | null;
    readonly status: string | null;
  } | null;
  readonly last_missed: { readonly due_at: string; readonly reason: string } | null;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A single schedule. */
export interface ScheduleDetail extends Schedule {
  readonly next_runs: readonly string[];
  readonly task: Readonly<Record<string, unknown>> | null;
  readonly push: Readonly<Record<string, unknown>> | null;
}

/** One of its past times. */
export interface PastRun {
  readonly at: string;
  readonly due_at: string;
  readonly outcome: 'missed' | 'started';
  readonly task: string | null;
  readonly job: string | null;
  readonly status: string | null;
  readonly count: number;
  readonly reason: string | null;
}

export interface StartedRun {
  readonly task: string | null;
  readonly job: string | null;
}
