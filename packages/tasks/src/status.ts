/** Status codes of tasks, as the design has them; -5, -4 and -3 have their old meaning again (T7). */
export const STATUS = {
  /** Held back by a person. Every value below -6 holds a task back. */
  held: -7,
  /** It was worked on, and nobody can tell how it ended. */
  orphaned: -6,
  cancelled: -5,
  /** Waits for other tasks. */
  blocked: -4,
  /** Cancelled, and had to be killed. */
  terminated: -3,
  queued: -2,
  /** A node has it, and has not begun. */
  claimed: -1,
  running: 0,
  succeeded: 1,
  /** Every greater value is a failure, too: plugins may have their own. */
  failed: 2,
} as const;

export type StatusName = keyof typeof STATUS;

export const STATUS_NAMES = Object.keys(STATUS) as readonly StatusName[];

const NAMES = new Map<number, StatusName>(STATUS_NAMES.map((name) => [STATUS[name], name]));

/** What a code is called. */
export function statusName(status: number): StatusName {
  if (status < STATUS.held) return 'held';
  return NAMES.get(status) ?? 'failed';
}

/** On a node. */
export function isActive(status: number): boolean {
  return status === STATUS.claimed || status === STATUS.running;
}

/** No node has it, and one may get it, now or later. */
export function isWaiting(status: number): boolean {
  return status === STATUS.queued || status === STATUS.blocked;
}

/** It will not run any more unless somebody says so. */
export function isEnded(status: number): boolean {
  return (
    status > STATUS.running || status === STATUS.orphaned || status === STATUS.cancelled || status === STATUS.terminated
  );
}

/** Held back: any value that nothing else uses (design). */
export function isHeld(status: number): boolean {
  return status <= STATUS.held;
}

/** What a person may want of a task. */
export type Wanted = 'cancel' | 'hold' | 'release' | 'retry' | 'remove';

/** Why a task of this status stays as it is; null: it does not. */
export function refusalOf(wanted: Wanted, status: number): string | null {
  switch (wanted) {
    case 'cancel':
      return isEnded(status) ? 'it has ended already' : null;
    case 'hold':
      if (isActive(status)) return 'a node has it already; cancel it instead';
      return isEnded(status) ? 'it has ended already' : null;
    case 'release':
      return isHeld(status) ? null : 'it is not held';
    case 'retry':
      return isEnded(status) ? null : 'it has not ended';
    case 'remove':
      return isActive(status) ? 'a node has it; cancel it first' : null;
  }
}
