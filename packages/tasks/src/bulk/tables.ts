import type { TaskAction } from '../ports.js';
import type { BulkStatus } from './types.js';

declare module '@muster/store' {
  interface Schema {
    /** Actions on many tasks that the server carries out. */
    task_bulk_runs: {
      /** 24 hex digits, later ones greater. */
      id: string;
      org_id: string;
      /** Only tasks of this queue; null: of any. */
      queue_id: string | null;
      action: TaskAction;
      /** Status code that holds them; null: the usual one. */
      code: number | null;
      /** Selector of tasks; null: those of `ids`. */
      selector: string | null;
      /** JSON. */
      ids: string | null;
      /** Id of the last task that may be acted on; null: all that match. */
      until: string | null;
      /** How many it was about when they were counted. */
      counted: number | null;
      owner_id: string;
      owner_type: 'user' | 'node' | 'service';
      owner_name: string;
      state: BulkStatus;
      /** Why it was stopped, or failed. */
      reason: string | null;
      /** Where it is: the last task that was looked at, or how many of `ids` were. */
      place: string | null;
      matched: number;
      acted: number;
      /** `Refusals[]`, JSON. */
      refused: string;
      created_at: number;
      ended_at: number | null;
    };
  }
}
