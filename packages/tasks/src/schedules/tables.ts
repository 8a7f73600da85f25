declare module '@muster/store' {
  interface Schema {
    schedules: {
      /** 24 hex digits. */
      id: string;
      org_id: string;
      name: string;
      cron: string;
      timezone: string;
      missed: string;
      overlap: string;
      /** Names of calendars, JSON. */
      not_during: string;
      blackout: string;
      kind: 'task' | 'push';
      /** The queue of a task; null: it is push jobs. */
      queue_id: string | null;
      /** The beginning of the command of a push job, for lists. */
      command: string | null;
      /** What is run, JSON; it is read when it is. */
      work: string;
      /** `Agreement`, JSON: others have agreed to it as it is; null: they have not. */
      approval: string | null;
      owner_id: string;
      owner_type: 'user' | 'node' | 'service';
      owner_name: string;
      status: 'active' | 'paused' | 'held';
      reason: string | null;
      next_at: number | null;
      /** The time of a run that waits for the end of the last one. */
      waiting_at: number | null;
      /** Of the last run: its time, when it was started, and the id of its task or push job. */
      last_due_at: number | null;
      last_started_at: number | null;
      last_run: string | null;
      missed_at: number | null;
      missed_reason: string | null;
      /** For the end of which a run waits. */
      blackout_until: number | null;
      blackout_calendar: string | null;
      created_at: number;
      updated_at: number;
    };
    /** What became of their times. */
    schedule_runs: {
      schedule_id: string;
      /** Of a run its task or push job; of what was missed the first of these times. */
      id: string;
      org_id: string;
      /** When it was started, or seen to be missed. */
      at: number;
      /** Of several times that were missed together the last. */
      due_at: number;
      outcome: 'missed' | 'started';
      kind: 'task' | 'push';
      run: string | null;
      count: number;
      reason: string | null;
    };
  }
}

export {};
