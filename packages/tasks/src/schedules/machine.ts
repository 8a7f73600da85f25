import { type Blackout, type BlackoutAt, blackoutText } from '../calendars/types.js';
import type { Cron } from './cron/index.js';
import type { BlackoutRule, Missed, Overlap, ScheduleStatus } from './types.js';

/** How a schedule stands: what changes of it. All times are milliseconds since the epoch. */
export interface ScheduleState {
  readonly status: ScheduleStatus;
  /** Why it is paused or held. */
  readonly reason: string | null;
  /** When it is due; null unless it is active. */
  readonly nextAt: number | null;
  /** The time of a run that waits for the end of the last one, or for that of a blackout. */
  readonly waitingAt: number | null;
  /** The blackout for whose end it waits. */
  readonly blackout: Pick<Blackout, 'calendar' | 'until'> | null;
  /** The last run that was started: id of its task or push job. */
  readonly last: { readonly dueAt: number; readonly startedAt: number; readonly run: string } | null;
  /** The last time at which nothing was run though it was due. */
  readonly missed: { readonly dueAt: number; readonly reason: string } | null;
}

export interface ScheduleRules {
  readonly cron: Pick<Cron, 'after' | 'last'>;
  readonly missed: Missed;
  readonly overlap: Overlap;
  /** When calendars let nothing start. */
  readonly blackoutAt: BlackoutAt;
  readonly blackout: BlackoutRule;
}

export type ScheduleEvent =
  /** Time has passed, or the last run has ended. */
  | { readonly type: 'look'; readonly goesOn: boolean }
  /** It was loaded, or the clock was set back. */
  | { readonly type: 'clock' }
  /** The run of this time is there. */
  | { readonly type: 'started'; readonly dueAt: number; readonly run: string }
  /** The run of this time did not come about. */
  | { readonly type: 'refused'; readonly dueAt: number; readonly reason: string }
  | { readonly type: 'hold'; readonly reason: string }
  | { readonly type: 'pause'; readonly reason: string }
  | { readonly type: 'resume' }
  /** It has other rules, which are given. */
  | { readonly type: 'changed' };

export type ScheduleEffect =
  | { readonly type: 'run'; readonly dueAt: number }
  /** Nothing was run at so many times; `count` is `MOST_COUNTED` also when there were more. */
  | {
      readonly type: 'missed';
      readonly firstAt: number;
      readonly lastAt: number;
      readonly count: number;
      readonly reason: string;
    }
  | { readonly type: 'held'; readonly reason: string };

export interface ScheduleStep {
  readonly state: ScheduleState;
  readonly effects: readonly ScheduleEffect[];
}

/** A run may begin so late, by the load of the server or while it is started again, and is not missed. */
export const LATE_MS = 60_000;
/** A clock that is set back by more than this was wrong before, and what was run by it does not count. */
const SET_BACK_MS = 86_400_000;
export const MOST_COUNTED = 100;

const ABSENT = 'the server was not there, or its clock was set forward';
const GOES_ON = 'the run before it goes on';
const ONE_WAITS = 'the run before it goes on, and another one waits for its end';
const NEXT_WAS_DUE = 'a calendar let nothing start until the next was due';

export function newSchedule(rules: ScheduleRules, now: number, paused: string | null): ScheduleState {
  return {
    status: paused === null ? 'active' : 'paused',
    reason: paused,
    nextAt: paused === null ? rules.cron.after(now) : null,
    waitingAt: null,
    blackout: null,
    last: null,
    missed: null,
  };
}

/** One step. An event that means nothing in a state changes nothing. */
export function stepSchedule(
  state: ScheduleState,
  event: ScheduleEvent,
  rules: ScheduleRules,
  now: number,
): ScheduleStep {
  switch (event.type) {
    case 'look':
      return state.status === 'active' ? look(state, event.goesOn, rules, now) : { state, effects: [] };

    case 'clock':
      return { state: afterClock(state, rules, now), effects: [] };

    case 'started':
      return { state: { ...state, last: { dueAt: event.dueAt, startedAt: now, run: event.run } }, effects: [] };

    case 'refused':
      return miss({ state, effects: [] }, only(event.dueAt, event.reason));

    case 'hold': {
      const { reason } = event;
      const { state: stopped, effects } = unwait({ ...state, status: 'held', reason, nextAt: null }, 'it is held');
      return { state: stopped, effects: [...effects, { type: 'held', reason }] };
    }

    case 'pause':
      return unwait({ ...state, status: 'paused', reason: event.reason, nextAt: null }, 'it was paused');

    case 'resume':
      if (state.status === 'active') return { state, effects: [] };
      return { state: { ...state, status: 'active', reason: null, nextAt: rules.cron.after(now) }, effects: [] };

    case 'changed': {
      const next = state.status === 'paused' ? {} : { status: 'active' as const, reason: null };
      const nextAt = state.status === 'paused' ? null : rules.cron.after(now);
      return unwait({ ...state, ...next, nextAt }, 'it was changed');
    }
  }
}

function look(before: ScheduleState, goesOn: boolean, rules: ScheduleRules, now: number): ScheduleStep {
  const mayRun = rules.overlap === 'allow' || !goesOn;
  const came = passed(before, rules, now);
  const blackout = rules.blackoutAt(now);
  if (blackout !== null) return inBlackout(came, mayRun, rules, blackout);
  const { dueAt, ...due } = afterBlackout(came, mayRun, rules);
  if (due.state.waitingAt !== null && mayRun) {
    // What fell due with it takes its place.
    const run = { type: 'run', dueAt: due.state.waitingAt } as const;
    return { state: { ...due.state, waitingAt: dueAt }, effects: [...due.effects, run] };
  }
  if (dueAt === null) return due;
  if (mayRun) return { state: due.state, effects: [...due.effects, { type: 'run', dueAt }] };
  if (rules.overlap === 'skip') return miss(due, only(dueAt, GOES_ON));
  if (due.state.waitingAt !== null) return miss(due, only(dueAt, ONE_WAITS));
  return { state: { ...due.state, waitingAt: dueAt }, effects: due.effects };
}

/** A step, and the time that is to be run now, if any. */
interface DueStep extends ScheduleStep {
  readonly dueAt: number | null;
}

/** Nothing is started. What is left out, and what waits for the end. */
function inBlackout(
  { dueAt, ...due }: DueStep,
  mayRun: boolean,
  { blackout: rule }: ScheduleRules,
  blackout: Blackout,
): ScheduleStep {
  const { waitingAt } = due.state;
  if (rule === 'skip') {
    const reason = blackoutText(blackout);
    // What waits for the end of the run before it may still wait.
    const free = waitingAt !== null && mayRun ? unwait(due.state, reason) : { state: due.state, effects: [] };
    const step = { state: free.state, effects: [...due.effects, ...free.effects] };
    return dueAt === null ? step : miss(step, only(dueAt, reason));
  }
  const step =
    dueAt !== null && waitingAt !== null ? miss(due, only(dueAt, `${blackoutText(blackout)}; one waits`)) : due;
  const waits = waitingAt ?? dueAt;
  if (waits === null || (step.state.blackout?.until === blackout.until && waits === waitingAt)) return step;
  const { calendar, until } = blackout;
  return { state: { ...step.state, waitingAt: waits, blackout: { calendar, until } }, effects: step.effects };
}

/** What waited for the end of a blackout is as if it were due now; what was due in one is left out, if that is the rule. */
function afterBlackout({ dueAt, ...due }: DueStep, mayRun: boolean, rules: ScheduleRules): DueStep {
  if (due.state.blackout !== null) {
    const state = { ...due.state, blackout: null };
    const step = { state, effects: due.effects };
    if (rules.overlap === 'queue' || state.waitingAt === null) return { ...step, dueAt };
    if (dueAt !== null) return { ...joined(step, unwait(state, NEXT_WAS_DUE)), dueAt };
    return mayRun ? { ...step, dueAt } : { ...joined(step, unwait(state, GOES_ON)), dueAt };
  }
  if (dueAt === null || rules.blackout === 'wait') return { ...due, dueAt };
  const fell = rules.blackoutAt(dueAt);
  return fell === null ? { ...due, dueAt } : { ...miss(due, only(dueAt, blackoutText(fell))), dueAt: null };
}

function joined(first: ScheduleStep, { state, effects }: ScheduleStep): ScheduleStep {
  return { state, effects: [...first.effects, ...effects] };
}

/** Which of the times that have come is to be run now, if any; the others are missed. */
function passed(state: ScheduleState, { cron, missed }: ScheduleRules, now: number): DueStep {
  const firstAt = state.nextAt;
  if (firstAt === null || firstAt > now) return { state, effects: [], dueAt: null };
  const lastAt = cron.last(firstAt, now) ?? firstAt;
  const step = { state: { ...state, nextAt: cron.after(now) }, effects: [] };
  const dueAt = now - lastAt > LATE_MS && missed === 'skip' ? null : lastAt;
  const missedLast = dueAt === null ? lastAt : cron.last(firstAt, lastAt - 1);
  if (missedLast === null) return { ...step, dueAt };
  const count = counted(cron, firstAt, missedLast);
  return { ...miss(step, { type: 'missed', firstAt, lastAt: missedLast, count, reason: ABSENT }), dueAt };
}

function counted(cron: ScheduleRules['cron'], firstAt: number, lastAt: number): number {
  let count = 1;
  for (let at = firstAt; at < lastAt && count < MOST_COUNTED; count++) at = cron.after(at);
  return count;
}

/**
 * A clock that was set back by little: what ran does not run again. By more, the times that were run are far ahead, and
 * nothing would run until then: it begins anew.
 */
function afterClock(state: ScheduleState, { cron }: ScheduleRules, now: number): ScheduleState {
  const { nextAt } = state;
  if (nextAt === null || nextAt <= now) return state;
  const expected = cron.after(now);
  if (expected >= nextAt) return state;
  const doneAt = cron.last(expected, nextAt - 1) ?? expected;
  return doneAt - now > SET_BACK_MS ? { ...state, nextAt: expected } : state;
}

/** Whatever waits does not run any more. */
function unwait(state: ScheduleState, reason: string): ScheduleStep {
  const { waitingAt } = state;
  if (waitingAt === null) return { state, effects: [] };
  return miss({ state: { ...state, waitingAt: null, blackout: null }, effects: [] }, only(waitingAt, reason));
}

type MissedEffect = Extract<ScheduleEffect, { type: 'missed' }>;

function only(dueAt: number, reason: string): MissedEffect {
  return { type: 'missed', firstAt: dueAt, lastAt: dueAt, count: 1, reason };
}

function miss({ state, effects }: ScheduleStep, effect: MissedEffect): ScheduleStep {
  const { lastAt: dueAt, reason } = effect;
  return { state: { ...state, missed: { dueAt, reason } }, effects: [...effects, effect] };
}
