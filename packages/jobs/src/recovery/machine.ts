import type { Condition } from '../machine.js';
import type { Next, Waited } from './policies/index.js';

/** What a tester says. */
export type Answer =
  | { readonly kind: 'blocked'; readonly says: string }
  /** It is over for so many jobs; `ALL` for all that wait. */
  | { readonly kind: 'clear'; readonly most: number; readonly says: string }
  /** It never will be. */
  | { readonly kind: 'hopeless'; readonly says: string };

export const ALL = Number.POSITIVE_INFINITY;

/**
 * Jobs that wait for one thing together.
 *
 * | state | what is true | what ends it |
 * |---|---|---|
 * | `waiting` | jobs are blocked, the next test has its time | that time, `test-now`: `testing`; `give-up`: `failing`; the last job left: `gone` |
 * | `testing` | the tester was asked | blocked: `waiting`, or `failing` when the policy gives up; clear: `releasing`; hopeless: `failing` |
 * | `releasing` | jobs go on, one batch after the other | done: `gone`, or `waiting` anew for those that are left |
 * | `failing` | the jobs fail | as `releasing` |
 * | `gone` | nobody waits; the record is being deleted | somebody joined meanwhile: `waiting` anew |
 */
export type Place = 'waiting' | 'testing' | 'releasing' | 'failing' | 'gone';

export interface RecoveryState extends Waited {
  readonly place: Place;
  readonly nextAttempt: number;
  readonly lastAnswer: string | null;
}

export type RecoveryEvent =
  /** The time of the next test has come, or seems to have. */
  | { readonly type: 'due' }
  | { readonly type: 'test-now' }
  | { readonly type: 'give-up'; readonly by: string }
  | { readonly type: 'answered'; readonly answer: Answer }
  /** So many jobs still wait. `progress`: some do not any more. */
  | { readonly type: 'done'; readonly left: number; readonly progress: boolean }
  /** Somebody stopped, or paused, some of its jobs. */
  | { readonly type: 'left'; readonly left: number }
  /** Somebody joined while it was being deleted. */
  | { readonly type: 'joined' }
  /** What was begun could not be finished: the database is away. */
  | { readonly type: 'interrupted' };

export type RecoveryEffect =
  | { readonly type: 'store' }
  | { readonly type: 'wake'; readonly at: number }
  | { readonly type: 'test' }
  | { readonly type: 'release'; readonly most: number }
  | { readonly type: 'fail'; readonly condition: Condition; readonly reason: string }
  | { readonly type: 'delete' };

export interface RecoveryStep {
  readonly state: RecoveryState;
  readonly effects: readonly RecoveryEffect[];
}

/** Says when the next test is, or that there is none: the policy with its parameters. */
export type Decide = (waited: Waited, now: number) => Next;

/** Until what was interrupted is tried again. */
const AGAIN_MS = 5000;

export function stepRecovery(state: RecoveryState, event: RecoveryEvent, decide: Decide, now: number): RecoveryStep {
  const { place } = state;
  switch (event.type) {
    case 'due':
      return place === 'waiting' && state.nextAttempt <= now ? test(state) : same(state);
    case 'test-now':
      return place === 'waiting' ? test(state) : same(state);
    case 'give-up':
      if (place !== 'waiting' && place !== 'testing') return same(state);
      return fail(state, 'JOB_RECOVERY_FAILURE', `${event.by} gave it up`);
    case 'answered':
      return place === 'testing' ? answered(state, event.answer, decide, now) : same(state);
    case 'done':
      if (place !== 'releasing' && place !== 'failing') return same(state);
      if (event.left === 0) return gone(state);
      return event.progress ? anew(state, decide, now) : failedAttempt(state, decide, now);
    case 'left':
      return place === 'waiting' && event.left === 0 ? gone(state) : same(state);
    case 'joined':
      return place === 'gone' ? anew(state, decide, now) : same(state);
    case 'interrupted': {
      if (place === 'waiting') return same(state);
      const nextAttempt = now + AGAIN_MS;
      return { state: { ...state, place: 'waiting', nextAttempt }, effects: [{ type: 'wake', at: nextAttempt }] };
    }
  }
}

/** Nobody has seen it yet. @param created When the first of its jobs was blocked. */
export function newRecovery(created: number, decide: Decide, now: number): RecoveryStep {
  return next({ place: 'waiting', attempts: 0, created, nextAttempt: now, lastAnswer: null }, decide, now);
}

function answered(state: RecoveryState, answer: Answer, decide: Decide, now: number): RecoveryStep {
  const heard = { ...state, lastAnswer: answer.says };
  switch (answer.kind) {
    case 'blocked':
      return failedAttempt(heard, decide, now);
    case 'clear':
      return { state: { ...heard, place: 'releasing' }, effects: [{ type: 'release', most: answer.most }] };
    case 'hopeless':
      return fail(heard, 'JOB_RECOVERY_FAILURE', answer.says);
  }
}

function failedAttempt(state: RecoveryState, decide: Decide, now: number): RecoveryStep {
  return next({ ...state, attempts: state.attempts + 1 }, decide, now);
}

/** The condition was over for some: the clock of the policy begins again for the others. */
function anew(state: RecoveryState, decide: Decide, now: number): RecoveryStep {
  return next({ ...state, attempts: 0, created: now }, decide, now);
}

function next(state: RecoveryState, decide: Decide, now: number): RecoveryStep {
  const decided = decide(state, now);
  if (decided.kind === 'give-up') {
    const reason = `${decided.reason} after ${state.attempts} tests; the last one said: ${state.lastAnswer ?? 'nothing'}`;
    return fail(state, 'JOB_RECOVERY_TIMEOUT', reason);
  }
  const nextAttempt = now + decided.ms;
  const effects = [{ type: 'store' }, { type: 'wake', at: nextAttempt }] as const;
  return { state: { ...state, place: 'waiting', nextAttempt }, effects };
}

function test(state: RecoveryState): RecoveryStep {
  return { state: { ...state, place: 'testing' }, effects: [{ type: 'test' }] };
}

function fail(state: RecoveryState, condition: Condition, reason: string): RecoveryStep {
  return { state: { ...state, place: 'failing' }, effects: [{ type: 'fail', condition, reason }] };
}

function gone(state: RecoveryState): RecoveryStep {
  return { state: { ...state, place: 'gone' }, effects: [{ type: 'delete' }] };
}

function same(state: RecoveryState): RecoveryStep {
  return { state, effects: [] };
}
