import type { Timer } from '@muster/base';
import type { AssignedTask, HeldState, TaskRef } from '@muster/wire';
import type { AttemptState } from './machine.js';

/** What the agent has of one attempt. */
export interface Held {
  readonly ref: TaskRef;
  readonly plugin: string;
  /** Null: an earlier agent took it, and a host has it. */
  readonly task: AssignedTask | null;
  state: AttemptState;
  /** Its host has told that it began. */
  started: boolean;
  /** When it was handed to its host, by the monotonic clock. */
  begunAt: number;
  /** When its end was last told. */
  toldAt: number;
  /** What the server has of its output; null: nothing was streamed. */
  stored: { stdout: number; stderr: number } | null;
  /** Until its worker process has answered. */
  patience: Timer | null;
  /** Why its worker process is ended, which did not. */
  doomed: string | null;
  /** Its secrets are on their way. */
  fetching: AbortController | null;
  /** Values by what its plugin finds them as, until a host has it. */
  secrets: Readonly<Record<string, string>> | null;
}

export function newHeld({ id, attempt }: TaskRef, plugin: string, task: AssignedTask | null, now: number): Held {
  return {
    ref: { id, attempt },
    plugin,
    task,
    state: { kind: 'waiting' },
    started: false,
    begunAt: now,
    toldAt: 0,
    stored: null,
    patience: null,
    doomed: null,
    fetching: null,
    secrets: null,
  };
}

/** What the server is told of it; null: nothing. */
export function heldState({ kind }: AttemptState): HeldState | null {
  switch (kind) {
    case 'waiting':
    case 'ended':
      return kind;
    case 'fetching':
      return 'waiting';
    case 'running':
    case 'killing':
    case 'draining':
      return 'running';
    case 'discarded':
    case 'gone':
      return null;
  }
}
