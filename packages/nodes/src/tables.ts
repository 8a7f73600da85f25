declare module '@muster/store' {
  interface Schema {
    nodes: {
      org_id: string;
      name: string;
      status: 'up' | 'down';
      /** When `status` last changed. */
      status_at: number;
      /** Why it is up or down. */
      reason: string;
      incarnation: string | null;
      /** How the previous incarnation ended. */
      last_end: 'clean' | 'crash' | 'reinstalled' | null;
      dialect: 'native' | 'chef2' | 'spec1' | null;
      /** Fingerprint of the key that last asked for configuration. */
      key_fingerprint: string | null;
      facts: string;
      labels: string;
      created_at: number;
    };
    /** Nodes without an agent: where and how commands reach them. */
    ssh_nodes: {
      /** 32 hex digits; names what a server keeps for it. */
      id: string;
      org_id: string;
      name: string;
      host: string;
      port: number;
      login: string;
      /** `SHA256:…`; null: none is pinned yet, and nobody logs in. */
      host_key: string | null;
      /** Names of secrets. */
      key_secret: string | null;
      password_secret: string | null;
      /** `SshNodePolicy`, JSON. */
      policy: string;
      created_at: number;
      updated_at: number;
    };
  }
}

export {};
