import { RULE_LIMITS } from './limits.js';
import type { AtMost } from './types.js';

/** The run, of some rule, from which an event comes. */
export interface Cause {
  readonly ruleId: string;
  readonly depth: number;
}

/**
 * What is done about an event that a rule has chosen:
 *
 *     it comes from a run of the rule itself           skip, loop
 *     it comes from a run at the greatest depth        skip, loop
 *     as many runs as may be were started in the time  skip, limit
 *     else                                             start, one deeper than its cause
 */
export type Verdict =
  | { readonly type: 'start'; readonly depth: number }
  | { readonly type: 'skip'; readonly why: 'limit' | 'loop' };

/** @param startedAt Of its runs, milliseconds. */
export function judge(
  rule: { readonly id: string; readonly atMost: AtMost },
  cause: Cause | null,
  startedAt: readonly number[],
  now: number,
): Verdict {
  const depth = (cause?.depth ?? 0) + 1;
  if (cause?.ruleId === rule.id || depth > RULE_LIMITS.depth) return { type: 'skip', why: 'loop' };
  const { runs, seconds } = rule.atMost;
  const since = now - seconds * 1000;
  if (startedAt.filter((at) => at > since).length >= runs) return { type: 'skip', why: 'limit' };
  return { type: 'start', depth };
}
