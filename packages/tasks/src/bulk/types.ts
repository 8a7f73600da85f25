import type { Identity, Organization } from '@muster/platform/auth';
import type { TaskAction } from '../ports.js';
import type { Counts } from './tally.js';

/** Which tasks: those of a selector, or those named. */
export interface About {
  readonly selector: string | null;
  readonly ids: readonly string[] | null;
  /** Id of the last task that may be acted on: what came after it was not counted. Null: all that match. */
  readonly until: string | null;
}

/** An action on many tasks that the server carries out. */
export interface BulkRun {
  readonly id: string;
  readonly org: Organization;
  /** Only tasks of this queue; null: of any. */
  readonly queueId: string | null;
  readonly action: TaskAction;
  readonly code: number | null;
  readonly about: About;
  /** How many it was about when they were counted; null: nobody said. */
  readonly counted: number | null;
  /** For whom it runs, as long as they may. */
  readonly owner: Pick<Identity, 'name' | 'principalId' | 'type'>;
  readonly createdAt: number;
}

export type BulkStatus = 'running' | 'done' | 'stopped' | 'failed';

export interface BulkState {
  readonly status: BulkStatus;
  readonly reason: string | null;
  /** See the column `place`. */
  readonly place: string | null;
  readonly counts: Counts;
  readonly endedAt: number | null;
}
