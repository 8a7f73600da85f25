import { type ActiveStatus, isActive, isTerminal, PHASES, type Status, TRANSITION } from './status.js';

/** Why a job ended, or what it waits for (sheet §2.7 and §7.1). */
export type Condition = string;

/** What of a job changes with its status. */
export interface JobState {
  readonly status: Status;
  /** Where it goes on when it is released; null unless it is BLOCKED or PAUSED. */
  readonly resumeAt: ActiveStatus | null;
  /** How often it became BLOCKED. */
  readonly blockedCount: number;
  /** Milliseconds since the epoch. When a worker first took it. */
  readonly created: number | null;
  readonly remoteSubmitted: number | null;
  readonly remoteStarted: number | null;
  readonly ended: number | null;
  readonly condition: Condition | null;
}

export interface Transition {
  readonly to: Status;
  readonly condition?: Condition;
}

export type Refused = { readonly refused: 'no-transition' };

/** What follows a status, besides itself, BLOCKED, PAUSED, STOPPED and FAILED (sheet §2.4). */
export const SUCCESSORS: Readonly<Record<ActiveStatus, readonly Status[]>> = {
  PENDING: ['PROCESSING_INPUTS'],
  PROCESSING_INPUTS: ['STAGING_INPUTS', 'STAGING_JOB'],
  STAGING_INPUTS: ['STAGED'],
  STAGED: ['STAGING_JOB'],
  STAGING_JOB: ['SUBMITTING'],
  SUBMITTING: ['QUEUED', 'RUNNING'],
  QUEUED: ['RUNNING', 'CLEANING_UP'],
  RUNNING: ['CLEANING_UP'],
  CLEANING_UP: ['ARCHIVING', 'FINISHED'],
  ARCHIVING: ['FINISHED'],
};

const ALWAYS: readonly Status[] = ['BLOCKED', 'PAUSED', 'STOPPED', 'FAILED'];

/**
 * Whether a job may go from one status to another. ACCEPTED may also be stopped, since it is seen from the moment of the
 * answer (J5); an active status may go to itself, so that a step can be repeated.
 */
export function mayGo(from: Status, to: Status): boolean {
  if (isTerminal(from) || to === 'ACCEPTED') return false;
  if (from === 'ACCEPTED') return to === 'PENDING' || to === 'STOPPED' || to === 'FAILED';
  if (from === 'BLOCKED') return to !== 'BLOCKED';
  if (from === 'PAUSED') return to !== 'PAUSED' && to !== 'BLOCKED';
  const active = from as ActiveStatus;
  return from === to || ALWAYS.includes(to) || SUCCESSORS[active].includes(to);
}

const ENDINGS: Readonly<Record<'FINISHED' | 'STOPPED' | 'FAILED', Condition>> = {
  FINISHED: 'NORMAL_COMPLETION',
  STOPPED: 'CANCELLED_BY_USER',
  FAILED: 'JOB_INTERNAL_ERROR',
};

/** One change of status. Each time is set once, and never after (sheet §2.6). */
export function stepJob(job: JobState, { to, condition }: Transition, now: number): JobState | Refused {
  if (!mayGo(job.status, to)) return { refused: 'no-transition' };
  const entered = job.status !== to;
  return {
    status: to,
    resumeAt: resumeAt(job, to),
    blockedCount: job.blockedCount + (to === 'BLOCKED' && entered ? 1 : 0),
    created: job.created ?? (to === 'PENDING' ? now : null),
    remoteSubmitted: job.remoteSubmitted ?? (to === 'QUEUED' || to === 'RUNNING' ? now : null),
    remoteStarted: job.remoteStarted ?? (to === 'RUNNING' ? now : null),
    ended: isTerminal(to) ? now : null,
    condition: isTerminal(to) ? (condition ?? ENDINGS[to]) : to === 'BLOCKED' ? (condition ?? null) : null,
  };
}

/** The message of a job after a change of which nothing more is known (sheet §2.5). */
export function transitionText(from: Status, to: Status): string {
  const phase = isActive(to) ? PHASES[to] : isActive(from) ? PHASES[from] : null;
  return `${TRANSITION}${from} to ${to}${phase === null ? '' : ` in phase ${phase}`}.`;
}

function resumeAt(job: JobState, to: Status): ActiveStatus | null {
  if (to !== 'BLOCKED' && to !== 'PAUSED') return null;
  return isActive(job.status) ? job.status : job.resumeAt;
}
