import type { Identity, Organization } from '@muster/platform/auth';
import type { Agreement } from '@muster/push';
import type { AskedSecrets } from '../secrets/use.js';
import type { Params } from '../types.js';

/** What becomes of times at which the server was not there: the last of them is made up for, or all are left out. */
export const MISSED = ['run-once', 'skip'] as const;
export type Missed = (typeof MISSED)[number];

/** What happens at a time at which the last run still goes on; of those that wait for its end there is one at most. */
export const OVERLAPS = ['allow', 'skip', 'queue'] as const;
export type Overlap = (typeof OVERLAPS)[number];

/** What becomes of a time at which a calendar lets nothing start: it is left out, or run at the end. */
export const BLACKOUTS = ['skip', 'wait'] as const;
export type BlackoutRule = (typeof BLACKOUTS)[number];

export const SCHEDULE_STATUSES = [
  /** Runs at its times. */
  'active',
  /** Somebody stopped it; until somebody resumes it. */
  'paused',
  /** It cannot run: whoever it runs for may not any more, or its queue is gone. Until somebody resumes or changes it. */
  'held',
] as const;
export type ScheduleStatus = (typeof SCHEDULE_STATUSES)[number];

/** For whom it runs: with their rights, looked at anew for each run. */
export type Owner = Pick<Identity, 'name' | 'principalId' | 'type'>;

/** What it runs: a task of a queue, or a push job as in the body of POST jobs. */
export type Work =
  | {
      readonly kind: 'task';
      readonly queueId: string;
      readonly params: Params;
      readonly options: {
        readonly priority?: number;
        readonly retries?: number;
        readonly timeout?: number;
        readonly secrets?: AskedSecrets;
        /** Where the queue led when they were named. */
        readonly place?: string;
      };
    }
  | {
      readonly kind: 'push';
      readonly job: Readonly<Record<string, unknown>>;
      /** As the push job shows it. */
      readonly command: string;
    };

/** What rights depend on. */
export type WorkPlace = { readonly kind: 'task'; readonly queueId: string } | { readonly kind: 'push' };

/** What of its work is always at hand. */
export type WorkBrief =
  | { readonly kind: 'task'; readonly queueId: string }
  | { readonly kind: 'push'; readonly command: string };

/** When it runs. */
export interface Timing {
  readonly cron: string;
  readonly timezone: string;
  readonly missed: Missed;
  readonly overlap: Overlap;
  /** Names of calendars: nothing is run at their times. */
  readonly notDuring: readonly string[];
  readonly blackout: BlackoutRule;
}

/** What is said of a schedule. */
export interface Schedule extends Timing {
  /** 24 hex digits. */
  readonly id: string;
  readonly org: Organization;
  readonly name: string;
  readonly work: WorkBrief;
  /** Others have agreed to it exactly as it is; null: they have not. */
  readonly agreement: Agreement | null;
  readonly owner: Owner;
  readonly createdAt: number;
  readonly updatedAt: number;
}
