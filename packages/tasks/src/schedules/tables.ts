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
  }
}

export {};
