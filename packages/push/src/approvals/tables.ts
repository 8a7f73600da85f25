declare module '@muster/store' {
  interface Schema {
    push_approvals: {
      /** 24 hex digits. */
      id: string;
      org_id: string;
      status: string;
      runbook: string;
      version: number;
      /** As the push job will show them. */
      command: string;
      target: string;
      /** As they may be shown, JSON. */
      parameters: string;
      /** JSON; empty once it is decided, as secrets may be in it. */
      order_text: string;
      hash: string;
      asker_id: string;
      asker_name: string;
      /** Who may grant it besides those with the right, JSON: a list as in the definition of a runbook. */
      approvers: string;
      created_at: number;
      expires_at: number;
      decided_by_id: string | null;
      decided_by: string | null;
      decided_at: number | null;
      reason: string | null;
      job_id: string | null;
    };
  }
}

export {};
