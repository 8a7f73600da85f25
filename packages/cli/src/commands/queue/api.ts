/** Shapes of the API's answers about queues that the CLI reads. */

export const TASK_STATUSES = [
  'queued',
  'blocked',
  'held',
  'claimed',
  'running',
  'succeeded',
  'failed',
  'orphaned',
  'cancelled',
  'terminated',
] as const;

export type TaskStatus = (typeof TASK_STATUSES)[number];

/** A queue as `GET …/queues/QUEUE` shows it. */
export interface QueueInfo {
  readonly id: string;
  readonly name: string;
  readonly plugin: string;
  readonly threads: number | null;
  readonly state: 'open' | 'paused' | 'draining';
  readonly sort: string;
  readonly nodes: string | null;
  readonly ignore_nodes: string | null;
  readonly weight: number;
  readonly key: { readonly param: string; readonly limit: number } | null;
  readonly rate: { readonly tasks: number; readonly seconds: number } | null;
  readonly retry: { readonly limit: number; readonly first: number; readonly longest: number };
  readonly orphan_retries: number;
  /** Seconds. */
  readonly timeout: number | null;
  readonly secrets: Readonly<Record<string, string>> | null;
  readonly output_limit: number;
  /** Seconds. */
  readonly keep: number | null;
  readonly writers: readonly string[];
  readonly readers: readonly string[];
  readonly created_at: string;
  readonly updated_at: string;
  readonly counts: Readonly<Record<TaskStatus, number>>;
  readonly ended_last_minute: number;
  readonly oldest_waiting: string | null;
  readonly why: readonly string[];
}
