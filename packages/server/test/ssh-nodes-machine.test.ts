import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Effect, type Event, initialMachine, type Machine, step } from '../src/ssh-nodes/machine.js';

const RULES = { lookMs: 30_000, retryFirstMs: 5_000, retryLongestMs: 300_000 };

function play(events: readonly Event[], from: Machine = initialMachine(0)) {
  let machine = from;
  const effects: Effect[] = [];
  for (const event of events) {
    const next = step(machine, event, RULES);
    machine = next.machine;
    effects.push(...next.effects);
  }
  return { machine, effects };
}

const looked = (at: number, text: string | null = null, refused = false): Event => ({
  type: 'looked',
  at,
  trouble: text === null ? null : { text, refused },
});
const failed = (at: number, text: string, refused = false): Event => ({
  type: 'failed',
  at,
  trouble: { text, refused },
});
const changed = (at: number, login = true): Event => ({ type: 'changed', at, login });
const tried = (at: number, trouble: string | null = null): Event => ({ type: 'tried', at, trouble });

describe('whether a host is reached', () => {
  test('is found out by going the whole way, and then by asking whether it still lets the server in', () => {
    expect(play([{ type: 'due' }, looked(1), { type: 'due' }, looked(2)]).effects).toEqual([
      { type: 'look', whole: true },
      { type: 'open' },
      { type: 'wait', ms: 30_000 },
      { type: 'look', whole: false },
      { type: 'wait', ms: 30_000 },
    ]);
  });

  test('what fails is tried again later and later, with a login', () => {
    const failing = Array.from({ length: 9 }, (_, at): Event[] => [{ type: 'due' }, looked(at, 'no')]).flat();
    const { effects, machine } = play(failing);
    const waits = effects.flatMap((effect) => (effect.type === 'wait' ? [effect.ms / 1000] : []));
    expect(waits).toEqual([5, 10, 20, 40, 80, 160, 300, 300, 300]);
    expect(effects.filter(({ type }) => type === 'look')).toContainEqual({ type: 'look', whole: true });
    expect(machine.reach).toEqual({ kind: 'unreachable', since: 0, trouble: 'no', failures: 9 });
  });

  test('a failure of what is done there cuts it off at once', () => {
    const { machine } = play([{ type: 'due' }, looked(1)]);
    const cut = play([failed(5, 'lost')], machine);
    expect(cut.effects).toEqual([{ type: 'close' }, { type: 'wait', ms: 5_000 }]);
    expect(play([failed(6, 'other')], cut.machine).effects).toEqual([]);
  });

  test('one that turned the server away is down at once, whatever was heard of it a moment ago', () => {
    const { machine } = play([{ type: 'due' }, looked(1)]);
    const down = [{ type: 'close' }, { type: 'down' }, { type: 'wait', ms: 5_000 }];
    expect(play([{ type: 'due' }, looked(5, 'another key', true)], machine).effects.slice(1)).toEqual(down);
    expect(play([failed(5, 'another key', true)], machine).effects).toEqual(down);
    expect(play([tried(5, 'another key')], machine).effects).toEqual(down);
    const silent = play([{ type: 'due' }, looked(5, 'silent')], machine).machine;
    expect(play([tried(6, 'another key')], silent).effects).toContainEqual({ type: 'down' });
  });

  test('a look at what was changed meanwhile counts for nothing', () => {
    const { effects, machine } = play([{ type: 'due' }, changed(1), looked(1, 'old'), looked(2)]);
    expect(effects).toEqual([
      { type: 'look', whole: true },
      { type: 'look', whole: true },
      { type: 'open' },
      { type: 'wait', ms: 30_000 },
    ]);
    expect(machine.reach).toEqual({ kind: 'reached', since: 2 });
  });

  test('what kept it from being reached is told no more once what leads there was changed', () => {
    const { machine } = play([{ type: 'due' }, looked(1, 'another key'), changed(5)]);
    expect(machine.reach).toEqual({ kind: 'unknown', since: 5 });
    const allowing = play([{ type: 'due' }, looked(1, 'another key'), changed(5, false)]).machine;
    expect(allowing.reach).toMatchObject({ kind: 'unreachable', trouble: 'another key' });
    const reached = play([{ type: 'due' }, looked(1), changed(5)]).machine;
    expect(reached.reach).toEqual({ kind: 'reached', since: 1 });
  });

  test('what somebody tried is told at once, and a look that began before it counts for nothing', () => {
    const { effects, machine } = play([{ type: 'due' }, tried(1, 'another key'), looked(2, 'refused')]);
    expect(effects).toEqual([
      { type: 'look', whole: true },
      { type: 'down' },
      { type: 'wait', ms: 5_000 },
      { type: 'look', whole: true },
    ]);
    expect(machine.reach).toMatchObject({ kind: 'unreachable', trouble: 'another key' });
    expect(play([tried(3)]).effects).toEqual([{ type: 'open' }, { type: 'wait', ms: 30_000 }]);
  });

  test('open and close take turns, one look goes on at a time, and something is always to come', () => {
    const event = fc.oneof(
      fc.constant<Event>({ type: 'due' }),
      fc.constantFrom<Event>(changed(1), changed(1, false)),
      fc.constantFrom<Event>(failed(1, 'x'), failed(1, 'x', true)),
      fc.constantFrom<Event>(looked(1), looked(1, 'x'), looked(1, 'x', true), tried(1), tried(1, 'x')),
    );
    fc.assert(
      fc.property(fc.array(event, { maxLength: 40 }), (events) => {
        let machine = initialMachine(0);
        let open = false;
        let looks = 0;
        let waits = true;
        for (const one of events) {
          // A look is answered once.
          if (one.type === 'looked' && looks === 0) continue;
          if (one.type === 'looked') looks -= 1;
          if (one.type === 'due') waits = false;
          const next = step(machine, one, RULES);
          machine = next.machine;
          for (const effect of next.effects) {
            if (effect.type === 'open') {
              expect(open).toBe(false);
              open = true;
            }
            if (effect.type === 'close') {
              expect(open).toBe(true);
              open = false;
            }
            if (effect.type === 'look') looks += 1;
            if (effect.type === 'wait') waits = true;
          }
          expect(looks).toBeLessThanOrEqual(1);
          expect(open).toBe(machine.reach.kind === 'reached');
          expect(looks === 1 || waits).toBe(true);
        }
      }),
    );
  });
});
