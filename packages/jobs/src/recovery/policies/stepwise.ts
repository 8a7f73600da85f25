import { withinTime } from './elapsed.js';
import { notIntegers } from './read.js';
import type { Parameters, Policy } from './types.js';

/** So many tests with this time before each; 0 or less: all that follow. */
export type Step = readonly [tries: number, waitMs: number];

const STEPS: readonly Step[] = [
  [2, 10_000],
  [10, 20_000],
  [10, 60_000],
  [100, 120_000],
  [-1, 300_000],
];
const MOST_STEPS = 100;

/** Longer and longer between tests: `steps`, JSON. Which one it is follows from the number of tests alone. */
export const stepwiseBackoff: Policy = {
  type: 'STEPWISE_BACKOFF',
  next(parameters, waited, now) {
    let before = 0;
    for (const [tries, waitMs] of readSteps(parameters) ?? STEPS) {
      before += tries;
      if (tries <= 0 || waited.attempts < before) return withinTime(parameters, waitMs, waited, now);
    }
    return { kind: 'give-up', reason: 'TOO_MANY_ATTEMPTS' };
  },
  mistakes: (parameters) => [
    ...(parameters.steps !== undefined && readSteps(parameters) === null ? ['steps'] : []),
    ...notIntegers(parameters, ['maxElapsedSeconds']),
  ],
};

/** Of a condition that is tested in this way. @param steps null: as without any. */
export const inSteps = (steps: readonly Step[] | null = null) => ({
  policy: stepwiseBackoff.type,
  parameters: steps === null ? {} : { steps: stepsText(steps) },
});

/** As it stands in parameters: `[{"left":TRIES,"right":MILLISECONDS}, …]`. */
export function stepsText(steps: readonly Step[]): string {
  return JSON.stringify(steps.map(([left, right]) => ({ left, right })));
}

/** null: there are none, or they are not understood. */
function readSteps({ steps }: Parameters): readonly Step[] | null {
  if (steps === undefined) return null;
  let read: unknown;
  try {
    read = JSON.parse(steps);
  } catch {
    return null;
  }
  if (!Array.isArray(read) || read.length === 0 || read.length > MOST_STEPS) return null;
  const understood = read.map((step) => [step?.left, step?.right] as const);
  const sound = understood.every(([tries, wait]) => Number.isInteger(tries) && Number.isInteger(wait) && wait >= 0);
  return sound ? understood : null;
}
