declare module '@muster/store' {
  interface Schema {
    /** Servers of the cluster, as each says of itself. */
    cluster_servers: {
      /** Of the process: new at every start. */
      incarnation: string;
      name: string;
      /** Where the other servers reach it. */
      url: string;
      /** PEM of the certificate that it shows there; null: plain HTTP. */
      certificate: string | null;
      version: string;
      started_at: number;
      seen_at: number;
    };
    /** Servers, by name, that shall not lead. */
    cluster_drained: { name: string; since: number };
    /** What became of each server, by name, as it was told last. */
    cluster_told: { name: string; lost: number };
    /** What all servers have in common besides the database, sealed with the key that each of them has. */
    cluster_files: { name: string; sealed: Uint8Array };
  }
}

export {};
