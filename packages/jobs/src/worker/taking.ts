import { isActive } from '../status.js';
import type { Job } from '../types.js';

/** What a worker does about a job whose message it got (sheet §3.1 and §3.4). */
export type Decision =
  /** It is over, or recovery has it: its message goes. */
  | { readonly kind: 'remove' }
  /** Nobody acts for it. */
  | { readonly kind: 'take' }
  /** This worker has it, and may, unless it has ended. */
  | { readonly kind: 'ask'; readonly worker: string };

/** @param me Uuid of the worker that asks: what is its own and nobody works on was left by it. */
export function decide({ status, worker }: Pick<Job, 'status' | 'worker'>, me: string): Decision {
  if (status !== 'ACCEPTED' && !isActive(status)) return { kind: 'remove' };
  if (worker === null || worker === me) return { kind: 'take' };
  return { kind: 'ask', worker };
}
