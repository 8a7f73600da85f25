import type { Answer } from '../machine.js';
import { hopeless } from './answers.js';
import { application } from './application.js';
import { connection, disk, login } from './connection.js';
import { quota } from './quota.js';
import { service } from './service.js';
import { systemAvailable } from './system-available.js';
import type { Tested, Tester, TesterDeps } from './types.js';

const ALL: readonly Tester[] = [systemAvailable, application, quota, connection, login, disk, service];

/** All testers, by their types. */
export const TESTERS: ReadonlyMap<string, Tester> = new Map(
  ALL.flatMap((tester) => tester.types.map((type) => [type, tester] as const)),
);

/** Asks the tester of this type. Jobs whose tester nobody knows can never go on. */
export async function ask(type: string, tested: Tested, deps: TesterDeps): Promise<Answer> {
  const tester = TESTERS.get(type);
  return tester === undefined ? hopeless(`nobody knows the tester ${type}`) : tester.test(tested, deps);
}

export type { Tested, Tester, TesterDeps } from './types.js';
