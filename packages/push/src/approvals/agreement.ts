import type { Need, Needs } from './needs.js';
import { ApprovalNeeded } from './policies.js';

/** That others agreed to what starts push jobs from then on, exactly as it is. */
export interface Agreement {
  /** Id of the approval. */
  readonly approval: string;
  /** What they met when they did. */
  readonly needs: readonly Need[];
}

/** Pure. What is wanted, and was not agreed to: a policy of other nodes than those of then, or one that wants something else since. */
export function lackingIn({ needs }: Agreement, now: Needs): Needs | null {
  const met = new Set(needs.map(keyOf));
  const lacking = now.needs.filter((need) => !met.has(keyOf(need)));
  return lacking.length === 0 ? null : { ...now, needs: lacking };
}

/** To be handed to what is started under an agreement. @throws ApprovalNeeded */
export function underAgreement(agreement: Agreement): (now: Needs) => void {
  return (now) => {
    const lacking = lackingIn(agreement, now);
    if (lacking !== null) throw new ApprovalNeeded(lacking);
  };
}

function keyOf({ why, grants, by }: Need): string {
  return JSON.stringify([why, grants, by]);
}
