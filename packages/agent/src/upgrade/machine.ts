import type { Change, Current } from './records.js';

/**
 * What watches over an agent that may be replaced by another version. It is the installed version, always; the agent is its child. Pure:
 * processes, files and time are effects.
 */

/** Null: the installed one. */
export type Version = string | null;

/** `base`: what runs when no upgrade is on its way, and what is come back to. */
export type State =
  /** It runs. `untold`: it has yet to tell that an upgrade was rolled back. */
  | { readonly kind: 'running'; readonly base: Version; readonly untold: Change | null }
  /** It has asked to be replaced, and that is being written down. */
  | { readonly kind: 'noting'; readonly base: Version; readonly change: Change }
  /** It is written down: once this agent has ended, the new one is started. */
  | { readonly kind: 'switching'; readonly base: Version; readonly change: Change }
  /** The new one runs, and has not yet reached the server. */
  | { readonly kind: 'proving'; readonly base: Version; readonly change: Change }
  /** It has, and that is being written down. */
  | { readonly kind: 'settling'; readonly base: Version; readonly change: Change }
  /** It has not, and is being killed. */
  | { readonly kind: 'reverting'; readonly base: Version; readonly change: Change; readonly reason: string }
  /** Everything ends: the child is waited for. */
  | { readonly kind: 'stopping' }
  | { readonly kind: 'over' };

export type Event =
  /** The agent asks to be replaced. */
  | { readonly type: 'switch'; readonly change: Change }
  /** The agent has reached the server, and knows of the change. */
  | { readonly type: 'settle' }
  /** What was last to be kept is on the disk, or could not be written. */
  | { readonly type: 'kept' }
  | { readonly type: 'not_kept'; readonly reason: string }
  /** The child has ended, or could not be started. */
  | { readonly type: 'exited'; readonly code: number | null; readonly signal: string | null }
  | { readonly type: 'unstartable'; readonly reason: string }
  | { readonly type: 'late' }
  | { readonly type: 'stop' };

export type Effect =
  /** Answered by `kept` or `not_kept`, before anything else happens. */
  | { readonly do: 'keep'; readonly change: Change }
  | { readonly do: 'settle'; readonly current: Current }
  /** The same, and nothing waits for it: what is on the disk otherwise comes to the same at the next start. */
  | { readonly do: 'note'; readonly change: Change | null }
  | { readonly do: 'forget_current' }
  | { readonly do: 'start'; readonly version: Version }
  /** Tells the child to stop; KILL. */
  | { readonly do: 'ask_to_stop' }
  | { readonly do: 'kill' }
  /** One timer; `late` when it is over. */
  | { readonly do: 'arm'; readonly afterMs: number | 'stop' }
  | { readonly do: 'disarm' }
  /** To what the child asked; null: it is done. */
  | { readonly do: 'answer'; readonly refused: string | null }
  /** Versions that are not needed any more may go. */
  | { readonly do: 'clear'; readonly keep: readonly Version[] }
  | { readonly do: 'say'; readonly level: 'info' | 'warn' | 'error'; readonly text: string }
  | { readonly do: 'exit'; readonly code: number };

export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}

export interface Found {
  readonly change: Change | null;
  readonly current: Current | null;
  /** The installed version: that of this process. */
  readonly installed: string;
}

const say = (level: 'info' | 'warn' | 'error', text: string): Effect => ({ do: 'say', level, text });
const answer = (refused: string | null): Effect => ({ do: 'answer', refused });

/** What the previous one has left: an upgrade in the middle of which everything ended is not carried on. */
export function begin({ change, current, installed }: Found): Step {
  const replaced = current !== null && current.over !== installed;
  const base = current === null || replaced ? null : current.version;
  const before: Effect[] = replaced
    ? [
        say('info', `version ${installed} was installed since: it counts, not ${current.version}`),
        { do: 'forget_current' },
      ]
    : [];
  const start: Effect = { do: 'start', version: base };
  if (change === null) return { state: { kind: 'running', base, untold: null }, effects: [...before, start] };
  if (change.phase === 'rolled_back') {
    return { state: { kind: 'running', base, untold: change }, effects: [...before, start] };
  }
  if (base === change.to) {
    return {
      state: { kind: 'running', base, untold: null },
      effects: [...before, { do: 'note', change: null }, start],
    };
  }
  const reason = `everything was ended before version ${change.to} had reached the server`;
  return rollBack(base, change, reason, before);
}

function rollBack(base: Version, change: Change, reason: string, before: readonly Effect[] = []): Step {
  const untold: Change = { ...change, phase: 'rolled_back', reason };
  return {
    state: { kind: 'running', base, untold },
    effects: [
      ...before,
      { do: 'disarm' },
      say('error', `rolled back to version ${change.from}: ${reason}`),
      { do: 'note', change: untold },
      { do: 'start', version: base },
    ],
  };
}

/** One event. Events that mean nothing in the present state change nothing. `installed` is the version of this process. */
export function step(state: State, event: Event, installed: string): Step {
  const stay = (...effects: Effect[]): Step => ({ state, effects });
  const to = (next: State, ...effects: Effect[]): Step => ({ state: next, effects });
  if (event.type === 'stop') return stop(state);

  switch (state.kind) {
    case 'running': {
      const { base, untold } = state;
      switch (event.type) {
        case 'switch':
          return to({ kind: 'noting', base, change: event.change }, { do: 'keep', change: event.change });
        case 'settle':
          if (untold === null) return stay(answer(null));
          return to({ kind: 'running', base, untold: null }, { do: 'note', change: null }, answer(null), {
            do: 'clear',
            keep: [base],
          });
        case 'exited':
          return to({ kind: 'over' }, { do: 'exit', code: event.code ?? 1 });
        case 'unstartable':
          return unstartable(state, event.reason, installed);
        default:
          return stay();
      }
    }

    case 'noting': {
      const { base, change } = state;
      switch (event.type) {
        case 'kept':
          return to({ kind: 'switching', base, change }, answer(null), { do: 'arm', afterMs: 'stop' });
        case 'not_kept':
          return to({ kind: 'running', base, untold: null }, answer(event.reason));
        default:
          return stay();
      }
    }

    case 'switching': {
      const { base, change } = state;
      if (event.type === 'late') return stay({ do: 'kill' });
      if (event.type !== 'exited') return stay();
      return to(
        { kind: 'proving', base, change },
        say('info', `version ${change.to} is started in the place of ${change.from}`),
        { do: 'arm', afterMs: change.probationMs },
        { do: 'start', version: change.to },
      );
    }

    case 'proving': {
      const { base, change } = state;
      switch (event.type) {
        case 'settle':
          return to(
            { kind: 'settling', base, change },
            { do: 'settle', current: { version: change.to, over: installed } },
          );
        case 'late':
          return to({ kind: 'reverting', base, change, reason: tooLate(change) }, { do: 'kill' });
        case 'exited':
          return rollBack(base, change, ended(change, event));
        case 'unstartable':
          return rollBack(base, change, `version ${change.to} cannot be started: ${event.reason}`);
        default:
          return stay();
      }
    }

    case 'settling': {
      const { base, change } = state;
      switch (event.type) {
        case 'kept':
          return to(
            { kind: 'running', base: change.to, untold: null },
            { do: 'disarm' },
            say('info', `version ${change.to} has reached the server, and stays`),
            answer(null),
            { do: 'clear', keep: [change.to, base] },
          );
        case 'not_kept':
          // It may ask again until its time is over.
          return to({ kind: 'proving', base, change }, answer(event.reason));
        default:
          return stay();
      }
    }

    case 'reverting':
      return event.type === 'exited' ? rollBack(state.base, state.change, state.reason) : stay();

    case 'stopping':
      if (event.type === 'late') return stay({ do: 'kill' });
      if (event.type === 'exited' || event.type === 'unstartable') {
        return to(
          { kind: 'over' },
          { do: 'disarm' },
          { do: 'exit', code: event.type === 'exited' ? (event.code ?? 0) : 1 },
        );
      }
      return stay();

    case 'over':
      return stay();
  }
}

/** One on probation has nothing to finish, and what it is may not listen. */
function stop(state: State): Step {
  switch (state.kind) {
    case 'running':
    case 'noting':
    case 'switching':
      return { state: { kind: 'stopping' }, effects: [{ do: 'ask_to_stop' }, { do: 'arm', afterMs: 'stop' }] };
    case 'proving':
    case 'settling':
    case 'reverting':
      return { state: { kind: 'stopping' }, effects: [{ do: 'kill' }] };
    case 'stopping':
    case 'over':
      return { state, effects: [] };
  }
}

/** A version that was taken away from the disk must not keep the node from coming back. */
function unstartable(state: Extract<State, { kind: 'running' }>, reason: string, installed: string): Step {
  const { base, untold } = state;
  if (base === null) {
    return {
      state: { kind: 'over' },
      effects: [say('error', `the agent cannot be started: ${reason}`), { do: 'exit', code: 1 }],
    };
  }
  return {
    state: { kind: 'running', base: null, untold },
    effects: [
      say(
        'error',
        `version ${base} cannot be started: ${reason}; the installed version ${installed} is started instead`,
      ),
      { do: 'forget_current' },
      { do: 'start', version: null },
    ],
  };
}

function tooLate({ to, probationMs }: Change): string {
  return `version ${to} did not reach the server within ${probationMs / 1000} s`;
}

function ended({ to }: Change, { code, signal }: Extract<Event, { type: 'exited' }>): string {
  return `version ${to} ended (${signal ?? `exit status ${code}`}) before it had reached the server`;
}
