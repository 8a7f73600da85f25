import type { Identity, Organization } from '@muster/platform/auth';
import type { Agreement } from '@muster/push';

/** What a rule starts. Texts in it may name attributes of the event, as `{node}`. */
export type Work =
  | {
      readonly kind: 'runbook';
      readonly runbook: string;
      readonly parameters: Readonly<Record<string, string | number>>;
      /** Of those on which the runbook runs only this one; null: on all of them. */
      readonly node: string | null;
    }
  | {
      readonly kind: 'task';
      readonly queueId: string;
      /** As a task is added over REST. */
      readonly task: Readonly<Record<string, unknown>>;
      /** Where the queue led when the task's secrets were named; absent: it names none. */
      readonly place?: string;
    }
  | {
      readonly kind: 'job';
      /** As a job is submitted over REST. */
      readonly request: Readonly<Record<string, unknown>>;
    };

/** So many runs within so many seconds. */
export interface AtMost {
  readonly runs: number;
  readonly seconds: number;
}

/** What becomes of an event at whose time a calendar lets nothing start: it is left out, or waits for the end. */
export const BLACKOUTS = ['skip', 'wait'] as const;
export type BlackoutRule = (typeof BLACKOUTS)[number];

/** When others agree to what it starts, where they have to: to each run, or once, to the rule. */
export const ASKS = ['each', 'once'] as const;
export type Asks = (typeof ASKS)[number];

/** That others agreed to a rule exactly as it is, and to this version of its runbook. */
export interface RuleAgreement extends Agreement {
  readonly runbook: { readonly id: string; readonly version: number };
}

/** An event selector that starts something. */
export interface Rule {
  readonly id: string;
  readonly org: Organization;
  readonly name: string;
  readonly selector: string;
  readonly work: Work;
  readonly atMost: AtMost;
  /** Names of calendars: nothing is started at their times. */
  readonly notDuring: readonly string[];
  readonly blackout: BlackoutRule;
  readonly enabled: boolean;
  readonly asks: Asks;
  /** null: nobody else has agreed to it. */
  readonly agreement: RuleAgreement | null;
  /** With whose rights events are followed, and work is started: whoever made or changed it last. */
  readonly owner: Pick<Identity, 'name' | 'principalId' | 'type'>;
  /** Events after this position count. */
  readonly since: number;
  /** Events for which nothing was started, as too much was, or as it was started by a rule itself. */
  readonly skipped: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export type Asked = Pick<Rule, 'asks' | 'atMost' | 'blackout' | 'enabled' | 'notDuring' | 'selector' | 'work'>;

/** What became of one event. */
export interface RuleRun {
  readonly position: number;
  readonly at: number;
  /** Type of the event. */
  readonly event: string;
  readonly outcome: 'asked' | 'denied' | 'expired' | 'failed' | 'skipped' | 'started' | 'waiting';
  readonly kind: Work['kind'];
  /** Id of the push job, approval, task or job; null: nothing was started. */
  readonly run: string | null;
  /** Why nothing was started, or is not yet, or who agreed to it. */
  readonly reason: string | null;
  /** Until when it waits. */
  readonly held_until: number | null;
}
