import type { Generated } from 'kysely';

/** The tables of queues and tasks. */
declare module '@muster/store' {
  interface Schema {
    task_queues: {
      id: string;
      org_id: string;
      name: string;
      plugin: string;
      threads: number | null;
      state: 'open' | 'paused' | 'draining';
      /** `QueueRules`, JSON. */
      rules: string;
      created_at: number;
      updated_at: number;
    };
    tasks: {
      /** 24 hex digits, later ones greater. */
      id: string;
      org_id: string;
      queue_id: string;
      /** JSON. */
      params: string;
      /** `Partial<TaskOptions>` without those that are columns, JSON; null: none. */
      options: string | null;
      /** The value of the queue's key parameter; empty: it has none. */
      lane: string;
      requester: string;
      ctime: number;
      status: number;
      node: string | null;
      /** Of the agent that it was given to: another one that does not have it may have lost it while it ran. */
      incarnation: string | null;
      attempt: Generated<number>;
      failures: Generated<number>;
      orphanings: Generated<number>;
      /** The negative of its priority: the least comes first. */
      rank: Generated<number>;
      not_before: number | null;
      expires_at: number | null;
      waits_for: Generated<number>;
      cancelling: Generated<number>;
      reason: string | null;
      mtime: number;
      started_at: number | null;
      ended_at: number | null;
      exit_code: number | null;
      signal: string | null;
      /** Output that came with the result; longer output is in `output_chunks`, of subject `task/ID` and part the attempt. */
      stdout: string | null;
      stderr: string | null;
      /** Bytes that were streamed; null: none was. */
      stdout_bytes: number | null;
      stderr_bytes: number | null;
      /** 1: all that was kept of its output is stored; 0: some is missing. Null until it ended. */
      complete: number | null;
    };
    /** Runs that are over while their task went on. */
    task_attempts: {
      task_id: string;
      attempt: number;
      node: string;
      status: number;
      reason: string | null;
      started_at: number | null;
      ended_at: number;
      exit_code: number | null;
      signal: string | null;
      stdout: string | null;
      stderr: string | null;
      stdout_bytes: number | null;
      stderr_bytes: number | null;
    };
    /** `task_id` waits for `after_id`. */
    task_dependencies: { task_id: string; after_id: string };
    /** Tasks that are not made a second time until then. */
    task_keys: { queue_id: string; key: string; task_id: string; until: number };
    /** Tasks and queues that are gone while something is left of them: attempts, dependencies, output. */
    deleted_tasks: { task_id: string };
    deleted_task_queues: { queue_id: string };
    /** What the command interface set for a node: at most so many tasks on it. */
    task_nodes: { org_id: string; node: string; id: string; maxthreads: number | null; seen_at: number | null };
    /** What the command interface keeps to share out threads by the time of day, JSON. */
    task_balances: { org_id: string; document: string };
    /** Documents that an organization keeps to make tasks of, JSON, in each collection in their order (T9). */
    task_documents: { org_id: string; collection: string; position: number; document: string };
    /** Files of output of an imported dump: the place of the next piece, and the bytes that are stored. */
    task_import_files: {
      org_id: string;
      file_id: string;
      task_id: string;
      stream: 'stdout' | 'stderr';
      attempt: number;
      next: number;
      bytes: number;
    };
  }
}
