import type { Clock } from '@muster/base';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { Systems } from '../../systems/types.js';
import type { Answer } from '../machine.js';
import type { Parameters } from '../policies/index.js';

/** What testers look with. */
export interface TesterDeps {
  readonly read: Kysely<Schema>;
  readonly systems: Pick<Systems, 'open'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Whether servers at private addresses may be asked. */
  readonly privateTargets: boolean;
}

export interface Tested {
  readonly orgId: string;
  readonly parameters: Parameters;
}

/**
 * Says whether jobs may go on that wait for one thing. A new one is one file, and a line in `index.ts`. It may throw: then the
 * jobs go on waiting. Whoever calls it sees to it that it does not take for ever.
 */
export interface Tester {
  readonly types: readonly string[];
  test(tested: Tested, deps: TesterDeps): Promise<Answer>;
}
