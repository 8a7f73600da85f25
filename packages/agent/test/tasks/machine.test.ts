import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type AttemptEffect,
  type AttemptEvent,
  type AttemptState,
  type End,
  type Ending,
  stepAttempt,
} from '../../src/tasks/machine.js';

const ending: Ending = {
  event: 'finished',
  result: {
    status: 1,
    retry: false,
    reason: null,
    exitCode: 0,
    signal: null,
    stdout: null,
    stderr: null,
    bytes: null,
    durationMs: 5,
  },
};
const lost: End = { event: 'lost', reason: 'gone' };
const killed: End = { event: 'cancelled', forced: true, bytes: null, durationMs: 7 };
const neverBegan: End = { event: 'cancelled', forced: false, bytes: null, durationMs: 0 };
const returned: End = { event: 'returned', reason: 'why' };

const EVENTS: readonly AttemptEvent[] = [
  { type: 'slot', fetch: false },
  { type: 'fetched' },
  { type: 'withdrawn' },
  { type: 'recall', reason: 'why' },
  { type: 'cancel' },
  { type: 'settled' },
  { type: 'ending', ending },
  { type: 'end', end: ending },
  { type: 'refused', reason: 'why' },
  { type: 'host_gone', lost, killed },
];
const STATES: readonly AttemptState[] = [
  { kind: 'waiting' },
  { kind: 'fetching' },
  { kind: 'running' },
  { kind: 'killing' },
  { kind: 'draining', ending },
  { kind: 'ended', end: returned },
  { kind: 'discarded' },
  { kind: 'gone' },
];

/** Of each state what each event makes of it; what is not named changes nothing. */
const TABLE: Record<AttemptState['kind'], Partial<Record<AttemptEvent['type'], string>>> = {
  waiting: {
    slot: 'running: run',
    recall: 'ended: tell returned',
    cancel: 'ended: tell cancelled',
    settled: 'gone: forget',
  },
  fetching: {
    fetched: 'running: run',
    withdrawn: 'waiting: drop, free, wait',
    recall: 'ended: drop, free, tell returned',
    cancel: 'ended: drop, free, tell cancelled',
    end: 'ended: free, tell finished',
    settled: 'gone: drop, free, forget',
  },
  running: {
    cancel: 'killing: kill',
    settled: 'discarded: kill',
    ending: 'draining: free',
    end: 'ended: free, tell finished',
    refused: 'ended: free, tell returned',
    host_gone: 'ended: free, tell lost',
  },
  killing: {
    cancel: 'killing: kill',
    settled: 'discarded: kill',
    ending: 'draining: free',
    end: 'ended: free, tell finished',
    refused: 'ended: free, tell cancelled',
    host_gone: 'ended: free, tell cancelled',
  },
  draining: {
    end: 'ended: tell finished',
    host_gone: 'ended: tell finished',
    settled: 'gone: settle, forget',
  },
  ended: { cancel: 'ended: tell returned', settled: 'gone: settle, forget' },
  discarded: {
    ending: 'gone: free, settle, forget',
    end: 'gone: free, settle, forget',
    refused: 'gone: free, forget',
    host_gone: 'gone: free, forget',
  },
  gone: {},
};

function shown(effect: AttemptEffect): string {
  return effect.type === 'tell' ? `tell ${effect.end.event}` : effect.type;
}

describe('an attempt on the agent', () => {
  for (const state of STATES) {
    for (const event of EVENTS) {
      const expected = TABLE[state.kind][event.type];
      it(`${state.kind}, ${event.type}: ${expected ?? 'nothing'}`, () => {
        const step = stepAttempt(state, event);
        if (expected === undefined) expect(step).toEqual({ state, effects: [] });
        else expect(`${step.state.kind}: ${step.effects.map(shown).join(', ')}`).toBe(expected);
      });
    }
  }
  it('one that waited and was cancelled never began', () => {
    expect(stepAttempt({ kind: 'waiting' }, { type: 'cancel' }).state).toEqual({ kind: 'ended', end: neverBegan });
  });

  it('one that is given secrets has them fetched before it runs', () => {
    const step = stepAttempt({ kind: 'waiting' }, { type: 'slot', fetch: true });
    expect(step).toEqual({ state: { kind: 'fetching' }, effects: [{ type: 'fetch' }] });
  });

  const history = fc.array(fc.constantFrom(...EVENTS, { type: 'slot', fetch: true } as const), { maxLength: 30 });
  /** What an attempt does that lives through these events. */
  function effectsOf(events: readonly AttemptEvent[]): AttemptEffect[] {
    let state: AttemptState = { kind: 'waiting' };
    return events.flatMap((event) => {
      const step = stepAttempt(state, event);
      state = step.state;
      return step.effects;
    });
  }
  /** Slots that it was given: what is fetched has one before it runs. */
  function slotsOf(events: readonly AttemptEvent[]): number {
    let state: AttemptState = { kind: 'waiting' };
    return events.filter((event) => {
      const before = state.kind;
      state = stepAttempt(state, event).state;
      return before === 'waiting' && event.type === 'slot';
    }).length;
  }
  const count = (effects: readonly AttemptEffect[], type: AttemptEffect['type']) =>
    effects.filter((effect) => effect.type === type).length;

  it('runs at most once, and frees each slot that it had at most once and only then', () => {
    fc.assert(
      fc.property(history, (events) => {
        const effects = effectsOf(events);
        expect(count(effects, 'run')).toBeLessThanOrEqual(1);
        expect(count(effects, 'free')).toBeLessThanOrEqual(slotsOf(events));
        expect(slotsOf(events) - count(effects, 'free')).toBeLessThanOrEqual(1);
      }),
    );
  });
  it('tells one end, however often, and returned only if it never ran', () => {
    fc.assert(
      fc.property(history, (events) => {
        const effects = effectsOf(events);
        const told = effects.flatMap((effect) => (effect.type === 'tell' ? [effect.end] : []));
        expect(new Set(told.map((end) => JSON.stringify(end))).size).toBeLessThanOrEqual(1);
        const refused = events.some(({ type }) => type === 'refused');
        if (told[0]?.event === 'returned' && !refused) expect(count(effects, 'run')).toBe(0);
      }),
    );
  });
  it('that is settled and whose host has ended it is forgotten, once', () => {
    fc.assert(
      fc.property(history, (events) => {
        const whole: AttemptEvent[] = [...events, { type: 'settled' }, { type: 'host_gone', lost, killed }];
        const effects = effectsOf(whole);
        expect(count(effects, 'forget')).toBe(1);
        expect(count(effects, 'free')).toBe(slotsOf(whole));
      }),
    );
  });
});
