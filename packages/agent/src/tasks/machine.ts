import type { TaskHappening, TaskNews, TaskRef } from '@muster/wire';

/** One attempt at a task, as the agent has it. Pure: host processes, slots and messages are effects. */

/** How an attempt ended that ran until its plugin ended, or until it was cancelled. */
export type Ending = Extract<TaskHappening, { event: 'finished' | 'cancelled' }>;
/** The last word on an attempt. */
export type End = Exclude<TaskHappening, { event: 'started' | 'progress' }>;

/** An end as it is told. Field by field: a literal that begins with a copy and then grows takes a hundred times as long to make. */
export function endNews({ id, attempt }: TaskRef, end: End): TaskNews {
  switch (end.event) {
    case 'finished':
      return { id, attempt, event: end.event, result: end.result };
    case 'cancelled': {
      const { event, forced, bytes, durationMs } = end;
      return { id, attempt, event, forced, bytes, durationMs };
    }
    case 'returned':
    case 'lost':
      return { id, attempt, event: end.event, reason: end.reason };
  }
}

export type AttemptState =
  /** For a slot. */
  | { readonly kind: 'waiting' }
  /** It has a slot, and the secrets that it is given are on their way: no host has it, and it has not begun. */
  | { readonly kind: 'fetching' }
  /** A host has it, and has not told its end. */
  | { readonly kind: 'running' }
  /** Its host is to end it, and has not told its end. */
  | { readonly kind: 'killing' }
  /** Its processes have ended; its output is on its way to the server. */
  | { readonly kind: 'draining'; readonly ending: Ending }
  /** Its end is told until the server has stored it. */
  | { readonly kind: 'ended'; readonly end: End }
  /** The server has done with it though it runs: its host is to end it, and nobody is told. */
  | { readonly kind: 'discarded' }
  /** Nothing is known of it any more. */
  | { readonly kind: 'gone' };

export type AttemptEvent =
  /** There is a slot for it. `fetch`: it is given secrets. */
  | { readonly type: 'slot'; readonly fetch: boolean }
  /** They are here. */
  | { readonly type: 'fetched' }
  /** The server is away: what has not begun does not begin. */
  | { readonly type: 'withdrawn' }
  /** The server's. */
  | { readonly type: 'recall'; readonly reason: string }
  | { readonly type: 'cancel' }
  | { readonly type: 'settled' }
  /** Its host's. */
  | { readonly type: 'ending'; readonly ending: Ending }
  | { readonly type: 'end'; readonly end: End }
  /** No host can be had for it: it has not begun. */
  | { readonly type: 'refused'; readonly reason: string }
  /** Its host is gone with all that it had not told. `lost` is what is said of what ran. */
  | { readonly type: 'host_gone'; readonly lost: End; readonly killed: End };

export type AttemptEffect =
  /** It is to have a slot again, later. */
  | { readonly type: 'wait' }
  /** Ask the server for its secrets. */
  | { readonly type: 'fetch' }
  /** They are not wanted any more. */
  | { readonly type: 'drop' }
  /** Hand it to a host. */
  | { readonly type: 'run' }
  /** Have its host end it. */
  | { readonly type: 'kill' }
  /** Its slot is free. */
  | { readonly type: 'free' }
  /** Tell the server. */
  | { readonly type: 'tell'; readonly end: End }
  /** Its host may forget it, if it has one. */
  | { readonly type: 'settle' }
  | { readonly type: 'forget' };

export interface AttemptStep {
  readonly state: AttemptState;
  readonly effects: readonly AttemptEffect[];
}

const WAIT: AttemptEffect = { type: 'wait' };
const FETCH: AttemptEffect = { type: 'fetch' };
const DROP: AttemptEffect = { type: 'drop' };
const RUN: AttemptEffect = { type: 'run' };
const KILL: AttemptEffect = { type: 'kill' };
const FREE: AttemptEffect = { type: 'free' };
const SETTLE: AttemptEffect = { type: 'settle' };
const FORGET: AttemptEffect = { type: 'forget' };
const GONE: AttemptState = { kind: 'gone' };

const NEVER_BEGAN: End = { event: 'cancelled', forced: false, bytes: null, durationMs: 0 };

const NONE: readonly AttemptEffect[] = [];

function to(state: AttemptState, ...effects: AttemptEffect[]): AttemptStep {
  return { state, effects };
}

function ended(end: End, ...effects: AttemptEffect[]): AttemptStep {
  return { state: { kind: 'ended', end }, effects: [...effects, { type: 'tell', end }] };
}

function stay(state: AttemptState): AttemptStep {
  return { state, effects: NONE };
}

/** One event. Events that mean nothing in the present state change nothing. */
export function stepAttempt(state: AttemptState, event: AttemptEvent): AttemptStep {
  switch (state.kind) {
    case 'waiting':
      if (event.type === 'slot') return event.fetch ? to({ kind: 'fetching' }, FETCH) : to({ kind: 'running' }, RUN);
      if (event.type === 'recall') return ended({ event: 'returned', reason: event.reason });
      if (event.type === 'cancel') return ended(NEVER_BEGAN);
      return event.type === 'settled' ? to(GONE, FORGET) : stay(state);

    case 'fetching':
      switch (event.type) {
        case 'fetched':
          return to({ kind: 'running' }, RUN);
        case 'withdrawn':
          return to({ kind: 'waiting' }, DROP, FREE, WAIT);
        case 'recall':
          return ended({ event: 'returned', reason: event.reason }, DROP, FREE);
        case 'cancel':
          return ended(NEVER_BEGAN, DROP, FREE);
        // They cannot be had.
        case 'end':
          return ended(event.end, FREE);
        case 'settled':
          return to(GONE, DROP, FREE, FORGET);
        default:
          return stay(state);
      }

    case 'running':
    case 'killing':
      switch (event.type) {
        case 'cancel':
          return to({ kind: 'killing' }, KILL);
        case 'ending':
          return to({ kind: 'draining', ending: event.ending }, FREE);
        case 'end':
          return ended(event.end, FREE);
        case 'refused':
          return ended(state.kind === 'killing' ? NEVER_BEGAN : { event: 'returned', reason: event.reason }, FREE);
        case 'host_gone':
          return ended(state.kind === 'killing' ? event.killed : event.lost, FREE);
        case 'settled':
          return to({ kind: 'discarded' }, KILL);
        default:
          return stay(state);
      }

    case 'draining':
      if (event.type === 'end') return ended(event.end);
      // What was not stored of its output is lost, how it ended is not.
      if (event.type === 'host_gone') return ended(state.ending);
      return event.type === 'settled' ? to(GONE, SETTLE, FORGET) : stay(state);

    case 'ended':
      // The server asks because it does not know.
      if (event.type === 'cancel') return to(state, { type: 'tell', end: state.end });
      return event.type === 'settled' ? to(GONE, SETTLE, FORGET) : stay(state);

    case 'discarded':
      if (event.type === 'host_gone' || event.type === 'refused') return to(GONE, FREE, FORGET);
      return event.type === 'end' || event.type === 'ending' ? to(GONE, FREE, SETTLE, FORGET) : stay(state);

    case 'gone':
      return stay(state);
  }
}
