import { constantBackoff } from './constant.js';
import { stepwiseBackoff } from './stepwise.js';
import type { Policy } from './types.js';

/** All policies, by their type. */
export const POLICIES: ReadonlyMap<string, Policy> = new Map(
  [constantBackoff, stepwiseBackoff].map((policy) => [policy.type, policy]),
);

export { expiry } from './elapsed.js';
export type { Next, Parameters, Policy, Waited } from './types.js';
