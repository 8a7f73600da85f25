import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expiry, type Next, type Parameters, POLICIES, type Policy } from '../../src/recovery/policies/index.js';
import { stepsText } from '../../src/recovery/policies/stepwise.js';

const CREATED = 1_000_000;

function policy(type: string): Policy {
  const found = POLICIES.get(type);
  if (found === undefined) throw new Error(`no policy ${type}`);
  return found;
}

/** What it says before each test, none of which is passed, until it gives up or so many were made. */
function waits(type: string, parameters: Parameters, most: number): readonly (number | string)[] {
  const said: (number | string)[] = [];
  let now = CREATED;
  for (let attempts = 0; attempts < most; attempts++) {
    const next: Next = policy(type).next(parameters, { attempts, created: CREATED }, now);
    if (next.kind === 'give-up') return [...said, next.reason];
    said.push(next.ms);
    now += next.ms;
  }
  return said;
}

describe('the constant policy (sheet §7.5)', () => {
  it('waits a minute unless told otherwise, and never less', () => {
    expect(waits('CONSTANT_BACKOFF', {}, 3)).toEqual([60_000, 60_000, 60_000]);
    expect(waits('CONSTANT_BACKOFF', { waitTime: '1000' }, 2)).toEqual([60_000, 60_000]);
    expect(waits('CONSTANT_BACKOFF', { waitTime: '120000' }, 2)).toEqual([120_000, 120_000]);
  });

  it('gives up after as many tests as it may make; 0 or less: never for their number', () => {
    expect(waits('CONSTANT_BACKOFF', { maxTries: '3' }, 10)).toEqual([60_000, 60_000, 60_000, 'TOO_MANY_ATTEMPTS']);
    expect(waits('CONSTANT_BACKOFF', { maxTries: '0' }, 500)).toHaveLength(500);
    expect(waits('CONSTANT_BACKOFF', { maxTries: '-1' }, 500)).toHaveLength(500);
  });

  it('gives up after 48 hours, or as many seconds as it is told; 0 or less: never', () => {
    const said = waits('CONSTANT_BACKOFF', {}, 10_000);
    expect(said.at(-1)).toBe('TIME_EXPIRED');
    expect(said).toHaveLength(48 * 60 + 1);
    const parameters = { maxElapsedSeconds: '100' };
    expect(waits('CONSTANT_BACKOFF', parameters, 10)).toEqual([60_000, 40_000, 'TIME_EXPIRED']);
    expect(waits('CONSTANT_BACKOFF', { maxElapsedSeconds: '0' }, 10_000)).toHaveLength(10_000);
    expect(expiry(parameters, CREATED)).toBe(CREATED + 100_000);
    expect(expiry({ maxElapsedSeconds: '-1' }, CREATED)).toBeNull();
  });

  it('takes what it does not understand for absent, and says so', () => {
    const parameters = { waitTime: 'soon', maxTries: '3x', maxElapsedSeconds: '1e3' };
    expect(waits('CONSTANT_BACKOFF', parameters, 3)).toEqual([60_000, 60_000, 60_000]);
    expect(policy('CONSTANT_BACKOFF').mistakes(parameters)).toEqual(['waitTime', 'maxTries', 'maxElapsedSeconds']);
  });
});

describe('the stepwise policy (sheet §7.5)', () => {
  it('waits longer from step to step, the last one for ever', () => {
    const said = waits('STEPWISE_BACKOFF', {}, 130);
    const counted = [10_000, 20_000, 60_000, 120_000, 300_000].map((ms) => said.filter((wait) => wait === ms).length);
    expect(counted).toEqual([2, 10, 10, 100, 8]);
  });

  it('makes each step as often as it says, and not once more (§7.10.2)', () => {
    const steps = stepsText([
      [2, 10_000],
      [1, 20_000],
    ]);
    expect(waits('STEPWISE_BACKOFF', { steps }, 10)).toEqual([10_000, 10_000, 20_000, 'TOO_MANY_ATTEMPTS']);
  });

  it('goes on in the middle of a step after a restart as if there had been none (§7.10.3)', () => {
    const step = fc.tuple(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 5000, max: 100_000 }));
    const steps = fc.array(step, { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(steps, fc.nat({ max: 30 }), (list, attempts) => {
        // Nothing is remembered but the number of tests: what a new process says is what the old one would have said.
        const parameters = { steps: stepsText(list), maxElapsedSeconds: '0' };
        const due = list.flatMap(([tries, wait]) => Array.from({ length: tries }, () => wait))[attempts];
        const next = policy('STEPWISE_BACKOFF').next(parameters, { attempts, created: 0 }, 1);
        expect(next).toEqual(
          due === undefined ? { kind: 'give-up', reason: 'TOO_MANY_ATTEMPTS' } : { kind: 'wait', ms: due },
        );
      }),
    );
  });

  it('makes the first test at once where a step says so, and none after less than five seconds', () => {
    expect(waits('STEPWISE_BACKOFF', { steps: stepsText([[3, 0]]) }, 3)).toEqual([0, 5000, 5000]);
  });

  it.each(['no', '[]', '[{"left":1}]', '[{"left":1,"right":-5}]', '{"left":1}', '[null]'])(
    'takes steps that it does not understand for absent, and says so: %s',
    (steps) => {
      expect(waits('STEPWISE_BACKOFF', { steps }, 3)).toEqual([10_000, 10_000, 20_000]);
      expect(policy('STEPWISE_BACKOFF').mistakes({ steps })).toEqual(['steps']);
    },
  );
});

describe('every policy', () => {
  it('measures its time from when the jobs were blocked, whatever happened since (§7.10.4)', () => {
    for (const [type, each] of POLICIES) {
      const waited = { attempts: 1, created: CREATED };
      const parameters = { maxElapsedSeconds: '3600' };
      expect(each.next(parameters, waited, CREATED + 3_599_999), type).toEqual({ kind: 'wait', ms: 1 });
      const over = each.next(parameters, waited, CREATED + 3_600_000);
      expect(over, type).toEqual({ kind: 'give-up', reason: 'TIME_EXPIRED' });
    }
  });
});
