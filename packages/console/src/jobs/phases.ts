import type { LongJobHistory } from '../api/types.gen.js';
import { hasEnded, isStatus, type LongStatus, WAY } from '../statuses/jobs.js';

/** A time in which a job had one status. */
export interface Phase {
  readonly status: LongStatus;
  /** Milliseconds since the epoch; null: it has not come to it. */
  readonly from: number | null;
  /** Null: it has it still, has not come to it, or stays in it for good. */
  readonly ms: number | null;
  readonly description: string;
}

/**
 * The way of a job: what it went through, for how long, and what is before it. History has other entries, too, such as of
 * permissions; they are no phases.
 */
export function phasesOf(history: LongJobHistory): readonly Phase[] {
  const been: Phase[] = [];
  for (const { status, created, description } of history) {
    const from = Date.parse(created);
    const last = been.at(-1);
    if (!isStatus(status) || Number.isNaN(from) || last?.status === status) continue;
    if (last !== undefined) been[been.length - 1] = { ...last, ms: Math.max(0, from - (last.from ?? from)) };
    been.push({ status, from, ms: null, description });
  }
  const now = been.at(-1);
  if (now === undefined || hasEnded(now.status)) return been;
  const reached = Math.max(...been.map(({ status }) => WAY.indexOf(status)));
  const ahead = [...WAY.slice(reached + 1), 'FINISHED' as const];
  return [...been, ...ahead.map((status): Phase => ({ status, from: null, ms: null, description: '' }))];
}
