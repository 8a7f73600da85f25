import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RULE_LIMITS } from '../src/limits.js';
import { judge } from '../src/machine.js';
import { fill, fillAll, Unfilled } from '../src/template.js';

const RULE = { id: 'r', atMost: { runs: 2, seconds: 10 } };

describe('what is done about an event', () => {
  it.each([
    ['nothing caused it', null, [], { type: 'start', depth: 1 }],
    ['another rule caused it', { ruleId: 'o', depth: 1 }, [], { type: 'start', depth: 2 }],
    ['it comes from a run of the rule', { ruleId: 'r', depth: 1 }, [], { type: 'skip', why: 'loop' }],
    [
      'rules started each other too often',
      { ruleId: 'o', depth: RULE_LIMITS.depth },
      [],
      { type: 'skip', why: 'loop' },
    ],
    ['as many ran as may', null, [95_000, 99_000], { type: 'skip', why: 'limit' }],
    ['one of them ran long enough ago', null, [90_000, 99_000], { type: 'start', depth: 1 }],
  ] as const)('%s', (_, cause, startedAt, verdict) => {
    expect(judge(RULE, cause, startedAt, 100_000)).toEqual(verdict);
  });

  it('never is more in any window than may be, whenever events come', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(5000), { maxLength: 60 }), fc.integer({ min: 1, max: 5 }), (pauses, runs) => {
        const startedAt: number[] = [];
        let now = 0;
        for (const pause of pauses) {
          now += pause;
          if (judge({ id: 'r', atMost: { runs, seconds: 10 } }, null, startedAt, now).type === 'start')
            startedAt.push(now);
        }
        for (const at of startedAt) {
          expect(startedAt.filter((other) => other > at - 10_000 && other <= at).length).toBeLessThanOrEqual(runs);
        }
      }),
    );
  });
});

describe('texts with attributes of the event', () => {
  const event = new Map([
    ['host', 'db1'],
    ['percent', '93'],
    ['evil', '{host} $(reboot)'],
  ]);

  it.each([
    ['{host}', 'db1'],
    ['on {host} at {percent}%', 'on db1 at 93%'],
    ['{evil}', '{host} $(reboot)'],
    ['{ host } {} {{}} {0}', '{ host } {} {{}} {0}'],
  ])('%s', (text, filled) => {
    expect(fill(text, event)).toBe(filled);
  });

  it('what the event lacks is told, and nothing is made up', () => {
    expect(() => fill('{disk}', event)).toThrow(new Unfilled('the event has no attribute disk'));
  });

  it('are filled wherever they stand in a value, but for names of fields', () => {
    const value = { '{host}': ['{host}', 3, null, { a: '{percent}' }] };
    expect(fillAll(value, event)).toEqual({ '{host}': ['db1', 3, null, { a: '93' }] });
  });

  it('have a longest length', () => {
    const long = new Map([['a', 'x'.repeat(4096)]]);
    expect(() => fill('{a}'.repeat(20), long)).toThrow('characters');
  });
});
