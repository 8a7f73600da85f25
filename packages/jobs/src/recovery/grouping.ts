import { createHash } from 'node:crypto';
import type { Obstacle } from '../types.js';
import type { Parameters } from './policies/index.js';

/** Says what a job did when it was blocked. Jobs that did something else wait together with it all the same. */
const ACTIVITY = 'BlockedJobActivity';

/** JSON, keys sorted. */
export function parametersText(parameters: Parameters): string {
  const sorted = Object.entries(parameters).filter(([name]) => name !== ACTIVITY);
  return JSON.stringify(Object.fromEntries(sorted.sort(([a], [b]) => (a < b ? -1 : 1))));
}

/** As `parametersText` wrote them. */
export function parametersOf(text: string): Parameters {
  return JSON.parse(text);
}

/** Jobs with equal ones wait together: one test, one policy clock (sheet §7.3). */
export function testerHash(tenant: string, { tester, parameters }: Pick<Obstacle, 'tester' | 'parameters'>): string {
  return createHash('sha1')
    .update(`${tenant}|${tester}|${parametersText(parameters)}`)
    .digest('hex');
}
