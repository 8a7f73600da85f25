declare module '@muster/store' {
  interface Schema {
    push_approvals: {
      /** 24 hex digits. */
      id: string;
      org_id: string;
      status: string;
      /** What is started. */
      kind: 'command' | 'rule' | 'runbook' | 'schedule';
      /** Of a runbook, schedule or rule. */
      name: string | null;
      /** Of a runbook. */
      version: number | null;
      /** As the push job will show them. */
      command: string;
      target: string;
      /** As they may be shown, JSON. */
      parameters: string;
      /** JSON; empty once it is decided, as sealed secrets may be in it. */
      order_text: string;
      hash: string;
      asker_id: string;
      asker_name: string;
      /** Who has to agree, JSON: `Need`s. */
      needs: string;
      /** Who has, JSON. */
      grants: string;
      created_at: number;
      expires_at: number;
      decided_by_id: string | null;
      decided_by: string | null;
      decided_at: number | null;
      reason: string | null;
      /** The push job, or what else was made. */
      job_id: string | null;
    };
    push_approval_policies: {
      org_id: string;
      name: string;
      /** Null: all nodes. */
      node_group: string | null;
      above: number;
      grants: number;
      /** JSON: a list as in the definition of a runbook. */
      approvers: string;
      /** Seconds. */
      within: number | null;
    };
  }
}

export {};
