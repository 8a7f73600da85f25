import { test } from 'vitest';
import { expectToHold } from './support/seeds.js';

/**
 * Faults that simulations found in the shipped code, by the seed that shows each. A seed stands for a run only as long
 * as the simulator draws the same numbers: whoever changes that undoes the fix and looks for another seed. Each fault
 * also has a test of its own in its package.
 */
const FOUND: readonly (readonly [seed: number, fault: string])[] = [
  [1, 'a start repeated for a heartbeat left before the decision to start was stored'],
  [6, 'with the clock set back the server sent no heartbeats and judged nobody until the old time came again'],
  [270, 'with the clock set back nodes in rehab were not aborted again'],
  [1691, 'with the clock set back a silent node counted as up'],
  [2896, 'with the clock set back a restarted server waited for the deadlines of the old time'],
];

for (const [seed, fault] of FOUND) test(`no more: ${fault} (seed ${seed})`, () => expectToHold(seed));
