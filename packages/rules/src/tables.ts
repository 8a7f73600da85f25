declare module '@muster/store' {
  interface Schema {
    rules: {
      id: string;
      org_id: string;
      name: string;
      selector: string;
      /** `Work`, JSON. */
      work: string;
      most_runs: number;
      most_seconds: number;
      /** Names of calendars, JSON. */
      not_during: string;
      blackout: 'skip' | 'wait';
      /** 0: it starts nothing. */
      enabled: number;
      /** When others agree; null: at each event. */
      asks: 'each' | 'once' | null;
      /** `RuleAgreement`, JSON; null: nobody else has agreed to it. */
      agreement: string | null;
      owner_id: string;
      owner_type: 'user' | 'node' | 'service';
      owner_name: string;
      since: number;
      skipped: number;
      created_at: number;
      updated_at: number;
    };
    /** What became of each event: of one event there is one run of a rule. */
    rule_runs: {
      rule_id: string;
      org_id: string;
      /** Of the event. */
      position: number;
      at: number;
      event: string;
      outcome: 'asked' | 'failed' | 'skipped' | 'started' | 'waiting';
      kind: 'job' | 'runbook' | 'task';
      run: string | null;
      reason: string | null;
      /** How many rules started each other until here. */
      depth: number;
      /** Of one that waits for the end of a blackout, or for the queue of jobs: until when, and the attributes of its event that its rule names, JSON. */
      held_until: number | null;
      attributes: string | null;
    };
  }
}

export {};
