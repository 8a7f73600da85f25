import type { PushJobSpec } from '../types.js';

/** How far a running job is that is started in batches, or that stopped at its failures and may be continued. */
export interface Stage {
  /** Number of the batch, from 1 on. */
  readonly batch: number;
  /** Nodes of this batch that are still to be started; null: it has no limit. */
  readonly left: number | null;
  /** What the next start waits for; null: for the other limits only. */
  readonly hold: Hold | null;
  /** While the hold is a pause: its end, in milliseconds since the epoch. */
  readonly until: number | null;
  /** Failures that somebody has seen and continued after. */
  readonly excused: number;
}

export type Hold =
  /** For some time, between two batches. */
  | 'pause'
  /** Until somebody says to go on, between two batches. */
  | 'confirm'
  /** The same, after more failures than allowed. */
  | 'failures';

/** Of a job without batches. */
export const UNLIMITED: Stage = { batch: 1, left: null, hold: null, until: null, excused: 0 };

type BatchRules = Pick<PushJobSpec, 'batches' | 'batchPause' | 'batchConfirm'>;

/** Null: nothing of a stage is to be kept in mind. */
export function firstStage({ batches }: BatchRules): Stage | null {
  return batches === undefined ? null : { batch: 1, left: sizeOf(batches, 1), hold: null, until: null, excused: 0 };
}

export function nextBatch(stage: Stage, { batches = [] }: BatchRules): Stage {
  const batch = stage.batch + 1;
  return { ...stage, batch, left: sizeOf(batches, batch), hold: null, until: null };
}

/** All of its batch were started and have ended. */
export function isThrough({ left }: Stage, busy: number): boolean {
  return left === 0 && busy === 0;
}

/** After a batch: what comes before the next one. */
export function between(stage: Stage, rules: BatchRules, now: number): Stage {
  if (rules.batchConfirm === true) return { ...stage, hold: 'confirm' };
  if (rules.batchPause !== undefined) return { ...stage, hold: 'pause', until: now + rules.batchPause * 1000 };
  return nextBatch(stage, rules);
}

function sizeOf(batches: readonly number[], batch: number): number | null {
  return batches[Math.min(batch, batches.length) - 1] ?? null;
}
