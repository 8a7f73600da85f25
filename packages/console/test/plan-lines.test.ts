import { describe, expect, it } from 'vitest';
import type { Balance } from '../src/api/types.gen.js';
import { linesOfPlan, planOfLines } from '../src/tasks/plan-lines.js';

const NOW = Date.parse('2026-11-20T12:00:00Z');
const BALANCE: Balance = {
  max_tasks: { '* 07:00': 5, '0 19:00': 40 },
  queues: [['bulk'], ['mail', 'urgent']],
  disabled: null,
  known_queues: ['bulk', 'mail', 'urgent'],
  settings: { enabled: true, pretend: false },
};

describe('a plan', () => {
  it('is written down with those first that come first, and read as it was', () => {
    const lines = linesOfPlan(BALANCE, NOW);
    expect(lines).toEqual({ times: 'every day 07:00 5\nSunday 19:00 40', queues: 'mail urgent\nbulk', disabled: '' });
    expect(planOfLines(lines, BALANCE.known_queues, NOW)).toEqual({
      plan: { max_tasks: BALANCE.max_tasks, queues: BALANCE.queues, disabled: null },
      wrong: {},
    });
  });

  it('begins with all queues alike where there is none', () => {
    const { max_tasks: _times, queues: _queues, ...none } = BALANCE;
    expect(linesOfPlan(none, NOW)).toEqual({ times: '', queues: 'bulk mail urgent', disabled: '' });
  });

  it('rests for a while, which is not kept when it is over', () => {
    const { plan } = planOfLines({ times: '', queues: '', disabled: '+2h' }, [], NOW);
    expect(plan.disabled).toBe(NOW / 1000 + 7200);
    expect(linesOfPlan({ ...BALANCE, disabled: NOW / 1000 + 60 }, NOW).disabled).toBe('2026-11-20T12:01:00.000Z');
    expect(linesOfPlan({ ...BALANCE, disabled: NOW / 1000 - 60 }, NOW).disabled).toBe('');
  });

  it.each([
    [
      { times: '* 07:00 5\nsomeday 08:00 3' },
      { times: 'Line 2 must be such as: every day 07:00 5, or Sunday 07:00 5.' },
    ],
    [{ times: '* 25:00 5' }, { times: 'Line 1 must be such as: every day 07:00 5, or Sunday 07:00 5.' }],
    [{ queues: 'bulk\nmial' }, { queues: 'Line 2: there is no queue mial.' }],
    [{ queues: 'bulk\n\nmail, bulk' }, { queues: 'Line 3 names bulk a second time.' }],
    [{ disabled: 'noon' }, { disabled: 'It must be +2h, or a time with its zone.' }],
    [{ disabled: '2026-11-20T11:00:00Z' }, { disabled: 'It is past.' }],
  ])('that cannot be taken is told why: %o', (given, wrong) => {
    const lines = { times: '', queues: '', disabled: '', ...given };
    expect(planOfLines(lines, BALANCE.known_queues, NOW).wrong).toEqual(wrong);
  });
});
