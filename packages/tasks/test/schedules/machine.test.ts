import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { BlackoutAt } from '../../src/calendars/blackout.js';
import { Cron, Zone } from '../../src/schedules/cron/index.js';
import {
  LATE_MS,
  MOST_COUNTED,
  newSchedule,
  type ScheduleEffect,
  type ScheduleEvent,
  type ScheduleRules,
  type ScheduleState,
  stepSchedule,
} from '../../src/schedules/machine.js';
import { BLACKOUTS, MISSED, OVERLAPS } from '../../src/schedules/types.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const UTC = Zone.find('UTC') as Zone;
/** Midnight; the schedules here run at each full hour. */
const START = Date.UTC(2026, 0, 1);

function rules(given: Partial<Omit<ScheduleRules, 'cron'>> & { cron?: string } = {}): ScheduleRules {
  const { cron = '@hourly', missed = 'run-once', overlap = 'skip', blackoutAt = () => null, blackout = 'skip' } = given;
  return { cron: new Cron(cron, UTC), missed, overlap, blackoutAt, blackout };
}

const active = (of: ScheduleRules, given: Partial<ScheduleState> = {}): ScheduleState => ({
  ...newSchedule(of, START, null),
  ...given,
});
const look = (goesOn = false): ScheduleEvent => ({ type: 'look', goesOn });
const told = (effects: readonly ScheduleEffect[]): unknown[] =>
  effects.map((effect) => {
    switch (effect.type) {
      case 'run':
        return ['run', (effect.dueAt - START) / HOUR];
      case 'missed':
        return ['missed', (effect.firstAt - START) / HOUR, (effect.lastAt - START) / HOUR, effect.count];
      case 'held':
        return ['held', effect.reason];
    }
  });

describe('a schedule that is looked at', () => {
  const hourly = rules();

  test('does nothing before its time', () => {
    const state = active(hourly);
    expect(stepSchedule(state, look(), hourly, START + HOUR - 1)).toEqual({ state, effects: [] });
  });

  test('runs at its time, and is due at the next', () => {
    const { state, effects } = stepSchedule(active(hourly), look(), hourly, START + HOUR);
    expect(told(effects)).toEqual([['run', 1]]);
    expect(state).toMatchObject({ nextAt: START + 2 * HOUR, missed: null });
  });

  test.each([
    // How it takes missed times, how late it is looked at, what it does.
    ['run-once', HOUR + LATE_MS, [['run', 1]]],
    ['skip', HOUR + LATE_MS, [['run', 1]]],
    ['run-once', HOUR + LATE_MS + 1, [['run', 1]]],
    ['skip', HOUR + LATE_MS + 1, [['missed', 1, 1, 1]]],
    [
      'run-once',
      4.5 * HOUR,
      [
        ['missed', 1, 3, 3],
        ['run', 4],
      ],
    ],
    ['skip', 4.5 * HOUR, [['missed', 1, 4, 4]]],
    // Only the last is of this moment.
    [
      'skip',
      4 * HOUR + 1,
      [
        ['missed', 1, 3, 3],
        ['run', 4],
      ],
    ],
    ['skip', 4000.5 * HOUR, [['missed', 1, 4000, MOST_COUNTED]]],
  ] as const)('%s, %d ms after midnight', (missed, at, expected) => {
    const of = rules({ missed });
    const { state, effects } = stepSchedule(active(of), look(), of, START + at);
    expect(told(effects)).toEqual(expected);
    expect(state.nextAt).toBeGreaterThan(START + at);
  });

  test.each([
    // Overlap, what waits, what it does and what waits then.
    ['allow', null, [['run', 1]], null],
    ['skip', null, [['missed', 1, 1, 1]], null],
    ['queue', null, [], 1],
    ['queue', 0.5, [['missed', 1, 1, 1]], 0.5],
  ] as const)('%s while the run before it goes on, with %s waiting', (overlap, waiting, expected, waits) => {
    const of = rules({ overlap });
    const waitingAt = waiting === null ? null : START + waiting * HOUR;
    const { state, effects } = stepSchedule(active(of, { waitingAt }), look(true), of, START + HOUR);
    expect(told(effects)).toEqual(expected);
    expect(state.waitingAt).toBe(waits === null ? null : START + waits * HOUR);
  });

  test('runs what waits when the run before it has ended, and what fell due meanwhile waits', () => {
    const of = rules({ overlap: 'queue' });
    const waiting = active(of, { waitingAt: START, nextAt: START + 2 * HOUR });
    const ended = stepSchedule(waiting, look(), of, START + HOUR);
    expect(told(ended.effects)).toEqual([['run', 0]]);
    expect(ended.state.waitingAt).toBeNull();
    const both = stepSchedule(waiting, look(), of, START + 2 * HOUR);
    expect(told(both.effects)).toEqual([['run', 0]]);
    expect(both.state).toMatchObject({ waitingAt: START + 2 * HOUR, nextAt: START + 3 * HOUR });
  });
});

/** From this hour on, so many hours each day. */
function daily(from: number, hours: number): BlackoutAt {
  return (at) => {
    for (const day of [-1, 0]) {
      const begins = (Math.floor(at / DAY) + day) * DAY + from * HOUR;
      if (begins <= at && at < begins + hours * HOUR)
        return { until: begins + hours * HOUR, calendar: 'night', why: 'x' };
    }
    return null;
  };
}

describe('a schedule that heeds a calendar', () => {
  /** From 1 to 4 o'clock. */
  const blackoutAt = daily(1, 3);
  const skips = rules({ blackoutAt });
  const waits = rules({ blackoutAt, blackout: 'wait' });

  test('leaves out what falls into it, and says why', () => {
    const { state, effects } = stepSchedule(active(skips), look(), skips, START + HOUR);
    expect(told(effects)).toEqual([['missed', 1, 1, 1]]);
    expect(state).toMatchObject({
      ...{ nextAt: START + 2 * HOUR, waitingAt: null },
      missed: { reason: 'calendar night (x) lets nothing start before 2026-01-01T04:00:00.000Z' },
    });
    expect(told(stepSchedule(active(skips), look(), skips, START + 4 * HOUR).effects)).toEqual([
      ['missed', 1, 3, 3],
      ['run', 4],
    ]);
  });

  test('leaves out also what fell into it and is looked at late', () => {
    const of = rules({ blackoutAt: daily(3, 1) });
    const state = active(of, { nextAt: START + 3 * HOUR });
    expect(told(stepSchedule(state, look(), of, START + 3 * HOUR + 59 * MINUTE).effects)).toEqual([
      ['missed', 3, 3, 1],
    ]);
    const late = rules({ blackoutAt: daily(3, 1), cron: '30 3 * * *' });
    const due = active(late, { nextAt: START + 3.5 * HOUR });
    expect(told(stepSchedule(due, look(), late, START + 5 * HOUR).effects)).toEqual([['missed', 3.5, 3.5, 1]]);
  });

  test('runs the first of what falls into it at the end, if it waits; the others are left out', () => {
    const of = rules({ blackoutAt, blackout: 'wait', cron: '30 * * * *' });
    const held = stepSchedule(newSchedule(of, START + HOUR, null), look(), of, START + 1.5 * HOUR);
    expect(held.effects).toEqual([]);
    expect(held.state).toMatchObject({
      ...{ waitingAt: START + 1.5 * HOUR, nextAt: START + 2.5 * HOUR },
      blackout: { calendar: 'night', until: START + 4 * HOUR },
    });
    expect(stepSchedule(held.state, look(), of, START + 2 * HOUR).state).toBe(held.state);
    const second = stepSchedule(held.state, look(), of, START + 2.5 * HOUR);
    expect(told(second.effects)).toEqual([['missed', 2.5, 2.5, 1]]);
    const end = stepSchedule({ ...second.state, nextAt: START + 4.5 * HOUR }, look(), of, START + 4 * HOUR);
    expect(told(end.effects)).toEqual([['run', 1.5]]);
    expect(end.state).toMatchObject({ waitingAt: null, blackout: null });
  });

  test('runs once where the end is a time of its own', () => {
    const held = stepSchedule(active(waits), look(), waits, START + HOUR).state;
    expect(told(stepSchedule({ ...held, nextAt: START + 4 * HOUR }, look(), waits, START + 4 * HOUR).effects)).toEqual([
      ['missed', 1, 1, 1],
      ['run', 4],
    ]);
  });

  test('that was paused or changed meanwhile runs nothing at the end', () => {
    const held = stepSchedule(active(waits), look(), waits, START + HOUR).state;
    for (const event of [{ type: 'pause', reason: 'x' }, { type: 'changed' }] as const) {
      const { state, effects } = stepSchedule(held, event, waits, START + 2 * HOUR);
      expect(told(effects)).toEqual([['missed', 1, 1, 1]]);
      expect(state).toMatchObject({ waitingAt: null, blackout: null });
    }
  });
});

describe('a schedule that somebody sees to', () => {
  const of = rules({ overlap: 'queue' });
  const waiting = active(of, { waitingAt: START });

  test('is paused: nothing is due, and what waits does not run', () => {
    const { state, effects } = stepSchedule(waiting, { type: 'pause', reason: 'paused by anna' }, of, START);
    expect(state).toMatchObject({ status: 'paused', reason: 'paused by anna', nextAt: null, waitingAt: null });
    expect(told(effects)).toEqual([['missed', 0, 0, 1]]);
    expect(stepSchedule(state, look(), of, START + DAY)).toEqual({ state, effects: [] });
  });

  test('is resumed, and makes up for nothing', () => {
    const paused = stepSchedule(waiting, { type: 'pause', reason: 'x' }, of, START).state;
    const { state, effects } = stepSchedule(paused, { type: 'resume' }, of, START + DAY + 1);
    expect(state).toMatchObject({ status: 'active', reason: null, nextAt: START + DAY + HOUR });
    expect(effects).toEqual([]);
  });

  test('is held, and active again when it is changed; one that is paused stays so', () => {
    const held = stepSchedule(active(of), { type: 'hold', reason: 'gone' }, of, START);
    expect(held.state).toMatchObject({ status: 'held', reason: 'gone', nextAt: null });
    expect(told(held.effects)).toEqual([['held', 'gone']]);
    const daily = rules({ cron: '@daily' });
    const changed = stepSchedule(held.state, { type: 'changed' }, daily, START + HOUR).state;
    expect(changed).toMatchObject({ status: 'active', reason: null, nextAt: START + DAY });
    const paused = newSchedule(of, START, 'paused by anna');
    expect(stepSchedule(paused, { type: 'changed' }, daily, START).state).toEqual(paused);
  });

  test('remembers its last run, and the last time at which there was none', () => {
    const ran = stepSchedule(active(of), { type: 'started', dueAt: START + HOUR, run: 'a' }, of, START + HOUR + 5);
    expect(ran.state.last).toEqual({ dueAt: START + HOUR, startedAt: START + HOUR + 5, run: 'a' });
    const refused = { type: 'refused', dueAt: START + 2 * HOUR, reason: 'no node matches' } as const;
    const { state, effects } = stepSchedule(ran.state, refused, of, START + 2 * HOUR);
    expect(state).toMatchObject({ last: { run: 'a' }, missed: { dueAt: START + 2 * HOUR, reason: 'no node matches' } });
    expect(told(effects)).toEqual([['missed', 2, 2, 1]]);
  });
});

describe('a clock that is set back', () => {
  const of = rules();
  // It has run at 3 o'clock.
  const state = active(of, { nextAt: START + 4 * HOUR });

  test('by little: what was run is not run again', () => {
    expect(stepSchedule(state, { type: 'clock' }, of, START + 0.5 * HOUR).state).toEqual(state);
  });

  test('by much: it begins anew', () => {
    const now = START - 30 * DAY;
    expect(stepSchedule(state, { type: 'clock' }, of, now).state.nextAt).toBe(now + HOUR);
  });

  test('not at all, or forward: nothing changes', () => {
    for (const now of [START + 3.5 * HOUR, START + 4 * HOUR, START + 30 * DAY]) {
      expect(stepSchedule(state, { type: 'clock' }, of, now).state).toBe(state);
    }
  });
});

test('every time is run, waits, or is told as missed, once and in order; nothing runs beside another unless it may', () => {
  const step = fc.record({
    /** Minutes that pass. */
    pass: fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 3000 })),
    ends: fc.boolean(),
  });
  fc.assert(
    fc.property(
      fc.constantFrom(...MISSED),
      fc.constantFrom(...OVERLAPS),
      fc.constantFrom('@hourly', '*/7 3-20 * * *', '15 2 * * mon'),
      fc.array(step, { minLength: 1, maxLength: 60 }),
      fc.option(
        fc.record({ from: fc.nat(23), hours: fc.integer({ min: 1, max: 20 }), rule: fc.constantFrom(...BLACKOUTS) }),
      ),
      (missed, overlap, cron, steps, dark) => {
        const blackoutAt = dark === null ? () => null : daily(dark.from, dark.hours);
        const of = rules({ missed, overlap, cron, blackoutAt, ...(dark !== null && { blackout: dark.rule }) });
        let state = newSchedule(of, START, null);
        let now = START;
        let goesOn = false;
        const runs: number[] = [];
        let accounted = 0;
        for (const { pass, ends } of steps) {
          now += pass * MINUTE;
          if (ends) goesOn = false;
          const { state: after, effects } = stepSchedule(state, look(goesOn), of, now);
          state = after;
          for (const effect of effects) {
            if (effect.type === 'missed') {
              expect(effect.lastAt).toBeLessThanOrEqual(now);
              for (let at = effect.firstAt; at <= effect.lastAt; at = of.cron.after(at)) accounted += 1;
            } else if (effect.type === 'run') {
              expect(goesOn && overlap !== 'allow').toBe(false);
              expect(effect.dueAt).toBeLessThanOrEqual(now);
              expect(blackoutAt(now)).toBeNull();
              if (dark?.rule === 'skip' && overlap !== 'queue') expect(blackoutAt(effect.dueAt)).toBeNull();
              runs.push(effect.dueAt);
              accounted += 1;
              goesOn = true;
            }
          }
          expect(state.nextAt).toBe(of.cron.after(now));
          const waits = overlap === 'queue' || (dark?.rule === 'wait' && blackoutAt(now) !== null);
          if (!waits) expect(state.waitingAt).toBeNull();
          expect(state.blackout === null).toBe(
            state.waitingAt === null || dark?.rule !== 'wait' || blackoutAt(now) === null,
          );
        }
        let due = 0;
        for (let at = of.cron.after(START); at <= now; at = of.cron.after(at)) due += 1;
        expect(accounted + (state.waitingAt === null ? 0 : 1)).toBe(due);
        expect(runs).toEqual([...new Set(runs)].sort((a, b) => a - b));
      },
    ),
    { numRuns: 300 },
  );
});
