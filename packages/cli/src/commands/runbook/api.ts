import type { Forecast } from '../push/launch.js';

/** Shapes of the API's answers about runbooks that the CLI reads. */

/** A runbook of a list. */
export interface Runbook {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly description: string;
  readonly author: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly runnable: boolean;
}

/** A single runbook. */
export interface RunbookDetail extends Omit<Runbook, 'runnable'> {
  readonly definition: Readonly<Record<string, unknown>>;
  /** Of those whom it names: who is not there. */
  readonly unknown: readonly string[];
  /** After an update: it was so already. An older server does not say it. */
  readonly unchanged?: boolean;
}

export interface RunbookVersion {
  readonly version: number;
  readonly author: string;
  readonly created_at: string;
}

/** What a run would be. */
export interface RunbookPlan extends Forecast {
  readonly name: string;
  readonly version: number;
  readonly command: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** It would wait for a second person. */
  readonly approval: boolean;
  readonly target: string;
}
