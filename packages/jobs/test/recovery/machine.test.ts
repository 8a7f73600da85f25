import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ALL,
  type Answer,
  type Decide,
  newRecovery,
  type Place,
  type RecoveryEvent,
  type RecoveryState,
  stepRecovery,
} from '../../src/recovery/machine.js';

/** Ten seconds between tests, and three of them. */
const decide: Decide = ({ attempts }) =>
  attempts < 3 ? { kind: 'wait', ms: 10_000 } : { kind: 'give-up', reason: 'TOO_MANY_ATTEMPTS' };

const BASE = { attempts: 0, created: 0, nextAttempt: 10_000, lastAnswer: null };
const at = (place: Place): RecoveryState => ({ ...BASE, place });

const clear: Answer = { kind: 'clear', most: ALL, says: 'up' };
const blocked: Answer = { kind: 'blocked', says: 'down' };
const hopeless: Answer = { kind: 'hopeless', says: 'gone' };

const EVENTS: Readonly<Record<string, RecoveryEvent>> = {
  due: { type: 'due' },
  'test-now': { type: 'test-now' },
  'give-up': { type: 'give-up', by: 'anna' },
  blocked: { type: 'answered', answer: blocked },
  clear: { type: 'answered', answer: clear },
  hopeless: { type: 'answered', answer: hopeless },
  'done none': { type: 'done', left: 0, progress: true },
  'done some': { type: 'done', left: 2, progress: true },
  'done nothing': { type: 'done', left: 2, progress: false },
  'left none': { type: 'left', left: 0 },
  'left some': { type: 'left', left: 1 },
  joined: { type: 'joined' },
  interrupted: { type: 'interrupted' },
};

/** What follows, and what is done; what is not here changes nothing. */
const TABLE: Readonly<Record<Place, Readonly<Record<string, string>>>> = {
  waiting: {
    due: 'testing test',
    'test-now': 'testing test',
    'give-up': 'failing fail',
    'left none': 'gone delete',
  },
  testing: {
    'give-up': 'failing fail',
    blocked: 'waiting store wake',
    clear: 'releasing release',
    hopeless: 'failing fail',
    interrupted: 'waiting wake',
  },
  releasing: {
    'done none': 'gone delete',
    'done some': 'waiting store wake',
    'done nothing': 'waiting store wake',
    interrupted: 'waiting wake',
  },
  failing: {
    'done none': 'gone delete',
    'done some': 'waiting store wake',
    'done nothing': 'waiting store wake',
    interrupted: 'waiting wake',
  },
  gone: { joined: 'waiting store wake', interrupted: 'waiting wake' },
};

describe('the machine of a recovery record', () => {
  it.each(Object.keys(TABLE) as Place[])('goes from %s where the table says, and nowhere else', (place) => {
    for (const [name, event] of Object.entries(EVENTS)) {
      const { state, effects } = stepRecovery(at(place), event, decide, 10_000);
      const did = [state.place, ...effects.map(({ type }) => type)].join(' ');
      expect(did, `${place}: ${name}`).toBe(TABLE[place][name] ?? place);
    }
  });

  it('does not test before the time has come, unless somebody says so', () => {
    expect(stepRecovery(at('waiting'), { type: 'due' }, decide, 9_999).effects).toEqual([]);
    expect(stepRecovery(at('waiting'), { type: 'test-now' }, decide, 1).effects).toEqual([{ type: 'test' }]);
  });

  it('begins anew when some of its jobs could go on: the clock of its policy, too', () => {
    const state = { ...at('releasing'), attempts: 2, created: 5 };
    expect(stepRecovery(state, { type: 'done', left: 3, progress: true }, decide, 70_000).state).toMatchObject({
      attempts: 0,
      created: 70_000,
      nextAttempt: 80_000,
    });
    expect(stepRecovery(state, { type: 'done', left: 3, progress: false }, decide, 70_000)).toMatchObject({
      state: { place: 'failing', created: 5 },
    });
  });

  it('says of what is new at once that it never can be, when its policy says so', () => {
    const never: Decide = () => ({ kind: 'give-up', reason: 'UNKNOWN_POLICY' });
    expect(newRecovery(1, never, 2).state.place).toBe('failing');
    expect(newRecovery(1, decide, 2)).toMatchObject({ state: { place: 'waiting', created: 1, nextAttempt: 10_002 } });
  });

  it('always has one thing under way, whatever happens: a timer, or an act that ends with an event', () => {
    const events = fc.array(fc.tuple(fc.constantFrom(...Object.values(EVENTS)), fc.nat({ max: 20_000 })), {
      maxLength: 100,
    });
    const ACT: Readonly<Record<Place, string>> = {
      waiting: 'wake',
      testing: 'test',
      releasing: 'release',
      failing: 'fail',
      gone: 'delete',
    };
    fc.assert(
      fc.property(events, (happened) => {
        let now = 0;
        let { state, effects } = newRecovery(0, decide, now);
        let underWay = 'wake';
        for (const [event, passed] of happened) {
          now += passed;
          const before = state;
          ({ state, effects } = stepRecovery(state, event, decide, now));
          const begun = effects.filter(({ type }) => type !== 'store').map(({ type }) => type);
          expect(begun.length).toBeLessThanOrEqual(1);
          if (begun[0] !== undefined) underWay = begun[0];
          else expect(state.place).toBe(before.place);
          expect(underWay).toBe(ACT[state.place]);
          // No policy is asked more often than it allows.
          expect(state.attempts).toBeLessThanOrEqual(3);
          expect(state.created).toBeLessThanOrEqual(now);
          if (state.place === 'waiting' && effects.length > 0) expect(state.nextAttempt).toBeGreaterThan(now);
        }
      }),
    );
  });
});
