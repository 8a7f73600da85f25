declare module '@muster/store' {
  interface Schema {
    push_runbooks: {
      /** 24 hex digits. */
      id: string;
      org_id: string;
      name: string;
      /** The newest. */
      version: number;
      description: string;
      /** Who may run it, JSON: a list as in its definition. */
      runners: string;
      /** Whoever made or last changed it: nodes are asked with their rights. */
      author_id: string;
      author_name: string;
      created_at: number;
      updated_at: number;
    };
    push_runbook_versions: {
      runbook_id: string;
      version: number;
      /** JSON. */
      definition: string;
      author_name: string;
      created_at: number;
    };
  }
}

export {};
