/** Whether the host of a node without an agent is reached, and when it is looked at again. Pure: time and connections are effects. */

export type Reach =
  /** It was not looked at yet. */
  | { readonly kind: 'unknown'; readonly since: number }
  /** It answered when it was last looked at, and let the server in. */
  | { readonly kind: 'reached'; readonly since: number }
  /** It did not. `failures` in a row make the pause longer. */
  | { readonly kind: 'unreachable'; readonly since: number; readonly trouble: string; readonly failures: number };

/** Why a host is not reached. */
export interface Trouble {
  readonly text: string;
  /** It answered, and turned the server away: that is no interruption. */
  readonly refused: boolean;
}

export interface Machine {
  readonly reach: Reach;
  /** A look goes on; `again`: what it finds is old, as what it looks at was changed or tried meanwhile. */
  readonly looking: { readonly again: boolean } | null;
}

export type Event =
  /** It is time to look. */
  | { readonly type: 'due' }
  /** It was changed. `login`: with what it is logged in to, so that why it was not reached says nothing any more. */
  | { readonly type: 'changed'; readonly at: number; readonly login: boolean }
  | { readonly type: 'looked'; readonly at: number; readonly trouble: Trouble | null }
  /** Somebody asked, and the whole way was gone: it tells more than a look that began before. */
  | { readonly type: 'tried'; readonly at: number; readonly trouble: string | null }
  /** What was done there beside the looks failed for the connection. */
  | { readonly type: 'failed'; readonly at: number; readonly trouble: Trouble };

export type Effect =
  /** `whole`: until commands can be run there; else it is enough that it lets the server in. */
  | { readonly type: 'look'; readonly whole: boolean }
  | { readonly type: 'wait'; readonly ms: number }
  /** From now on the server hears the node, or does not. */
  | { readonly type: 'open' }
  | { readonly type: 'close' }
  /** The node is down: its silence need not be waited for. */
  | { readonly type: 'down' };

export interface Rules {
  /** Between two looks at a host that answers. */
  readonly lookMs: number;
  /** After the first failure, and at most. */
  readonly retryFirstMs: number;
  readonly retryLongestMs: number;
}

export interface Step {
  readonly machine: Machine;
  readonly effects: readonly Effect[];
}

export const initialMachine = (now: number): Machine => ({ reach: { kind: 'unknown', since: now }, looking: null });

export function step(machine: Machine, event: Event, rules: Rules): Step {
  const { reach, looking } = machine;
  switch (event.type) {
    case 'due':
      if (looking !== null) return { machine, effects: [] };
      return look(reach, reach.kind !== 'reached');

    case 'changed': {
      // One that is reached stays so until a look says otherwise: what runs there goes on.
      const forgotten = event.login && reach.kind === 'unreachable';
      const now: Reach = forgotten ? { kind: 'unknown', since: event.at } : reach;
      if (looking !== null) return { machine: { reach: now, looking: { again: true } }, effects: [] };
      return look(now, true);
    }

    case 'looked':
      if (looking?.again === true) return look(reach, true);
      return found({ reach, looking: null }, event.at, event.trouble, rules);

    case 'tried': {
      // Who tried it is told that it is down, and it would not be for a while.
      const trouble = event.trouble === null ? null : { text: event.trouble, refused: true };
      return found({ reach, looking: looking && { again: true } }, event.at, trouble, rules);
    }

    case 'failed':
      // What is looked at now tells more than what was tried before.
      if (reach.kind !== 'reached') return { machine, effects: [] };
      return failed(machine, event.at, event.trouble, rules);
  }
}

function look(reach: Reach, whole: boolean): Step {
  return { machine: { reach, looking: { again: false } }, effects: [{ type: 'look', whole }] };
}

function found(machine: Machine, at: number, trouble: Trouble | null, rules: Rules): Step {
  if (trouble !== null) return failed(machine, at, trouble, rules);
  const { reach, looking } = machine;
  const was = reach.kind === 'reached';
  return {
    machine: { reach: was ? reach : { kind: 'reached', since: at }, looking },
    effects: [...(was ? [] : [{ type: 'open' } as const]), { type: 'wait', ms: rules.lookMs }],
  };
}

function failed({ reach, looking }: Machine, at: number, { text, refused }: Trouble, rules: Rules): Step {
  const before = reach.kind === 'unreachable' ? reach : null;
  const failures = (before?.failures ?? 0) + 1;
  const ms = Math.min(rules.retryFirstMs * 2 ** Math.min(failures - 1, MOST_DOUBLINGS), rules.retryLongestMs);
  return {
    machine: { reach: { kind: 'unreachable', since: before?.since ?? at, trouble: text, failures }, looking },
    effects: [
      ...(reach.kind === 'reached' ? [{ type: 'close' } as const] : []),
      ...(refused ? [{ type: 'down' } as const] : []),
      { type: 'wait', ms },
    ],
  };
}

/** Beyond this the pause is the longest anyway. */
const MOST_DOUBLINGS = 20;
