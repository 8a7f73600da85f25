import type { SystemTrouble } from '../../systems/types.js';
import type { Job } from '../../types.js';
import type { Parameters } from '../policies/index.js';

/** Something that blocks jobs until it is over (sheet §7.1). A new one is one file, and a line in `index.ts`. */
export interface ConditionRule {
  /** What jobs, messages and the database call it. */
  readonly name: string;
  /** In a sentence about the job. */
  readonly says: string;
  /** Type of its policy, with its parameters: when it is tested again, and for how long. */
  readonly policy: string;
  readonly parameters: Parameters;
  /** Type of its tester: who says that it is over. */
  readonly tester: string;
  /** Whether the trouble of a system is this one. Without it a phase says so, by an `obstacle`. */
  recognizes?(trouble: SystemTrouble, job: Pick<Job, 'workPath'>): boolean;
  /** It is no trouble: a job that waits for its turn may do so again and again. */
  readonly isTurn?: true;
}
