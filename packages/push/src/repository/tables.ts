/** The tables of push jobs. */
declare module '@muster/store' {
  interface Schema {
    push_jobs: {
      id: string;
      org_id: string;
      command: string;
      /** The request as validated, JSON: see `JobSpec` in the server. */
      spec: string;
      requester: string;
      status: string;
      /** `aborting` is a phase, not a status (decision N7); otherwise equal to `status`. */
      phase: string;
      /** While aborting: the status the job will end with. */
      ending: string | null;
      reason: string | null;
      node_count: number;
      created_at: number;
      /** When `status` last changed. */
      updated_at: number;
      /** Absolute deadline of the current phase, null when it has none. */
      deadline: number | null;
      /** Of a job that runs in batches, or was held, JSON: see `Stage`. */
      stage: string | null;
    };
    push_job_nodes: {
      job_id: string;
      node: string;
      status: string;
      /** 1 once `start` was sent while `ready`: the command may be running. */
      starting: number;
      reason: string | null;
      exit_code: number | null;
      signal: string | null;
      started_at: number | null;
      updated_at: number;
      stdout_bytes: number | null;
      stderr_bytes: number | null;
      /** Why captured output is not whole, for another cause than the limit. */
      output_missing: string | null;
      /** What was kept of its output, to compare it with that of others; null while it runs, and when nothing was captured. */
      output_hash: string | null;
    };
    /** Whose each node is; of a node that was never up there is no row. */
    push_node_owners: {
      org_id: string;
      node: string;
      owner: 'down' | 'rehab' | 'idle' | 'job';
      /** The job that owns it. */
      job_id: string | null;
      /** Why it is in rehab. */
      reason: string | null;
      /** When `owner` last changed. */
      since: number;
      /** Incarnation of the server process that last wrote this row. */
      server: string;
    };
    /** What a node tells that its owner allows; JSON of `NodeCommands`, `null` when it tells nothing any more. */
    push_node_commands: { org_id: string; node: string; commands: string };
    /** Files that push jobs take to their nodes, by their content. */
    push_files: {
      id: string;
      org_id: string;
      sha256: string;
      size: number;
      /** Bytes that are there; the file is complete once its hash was found right. */
      stored: number;
      complete: number;
      /** When it was last named, or more of it came. */
      used_at: number;
    };
    push_file_pieces: {
      file_id: string;
      /** Where `data` begins in the file. */
      position: number;
      data: Uint8Array;
    };
    /** Files that are gone from `push_files`, while pieces are left of them. */
    deleted_push_files: { file_id: string };
    /** What an organization has set; no row: nothing. */
    push_settings: {
      org_id: string;
      quorum: string | null;
      max_nodes: number | null;
      max_running: number | null;
      max_starts: number | null;
      approval: string;
    };
    /** Push jobs that are gone from `push_jobs`, while rows of `push_job_nodes` and captured output are left of them. */
    deleted_push_jobs: { job_id: string };
  }
}

export {};
