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
  }
}

export {};
