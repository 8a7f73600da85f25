import { LOST_FACTOR } from '../limits.js';

/**
 * The agent's judgement of the server by consecutive intervals (Push Jobs §4.3, N3). Pure; one `tick` per interval.
 * It starts online: the configuration request has just succeeded (sheet §5.3).
 */
export interface ServerLiveness {
  readonly online: boolean;
  /** A heartbeat came since the last tick. */
  readonly heard: boolean;
  /** Consecutive intervals without one. */
  readonly missed: number;
  /** Consecutive intervals with one, counted while offline. */
  readonly run: number;
}

export const freshLiveness: ServerLiveness = { online: true, heard: false, missed: 0, run: 0 };

export interface Thresholds {
  readonly offline: number;
  readonly online: number;
}

export type LivenessEvent = { readonly type: 'heartbeat' } | { readonly type: 'tick' };

export type LivenessEffect =
  /** Send nothing more, reopen the sockets, discard a job that has not begun. */
  | 'went_offline'
  | 'went_online'
  /** Gone for too long: the server may have moved, ask for the configuration again. */
  | 'lost';

export interface LivenessStep {
  readonly liveness: ServerLiveness;
  readonly effects: readonly LivenessEffect[];
}

export function judge(now: ServerLiveness, event: LivenessEvent, thresholds: Thresholds): LivenessStep {
  if (event.type === 'heartbeat') return { liveness: { ...now, heard: true }, effects: [] };

  const missed = now.heard ? 0 : now.missed + 1;
  if (now.online) {
    const online = missed < thresholds.offline;
    return { liveness: { online, heard: false, missed, run: 0 }, effects: online ? [] : ['went_offline'] };
  }
  const run = now.heard ? now.run + 1 : 0;
  if (run >= thresholds.online) return { liveness: { ...freshLiveness }, effects: ['went_online'] };
  const patience = thresholds.offline * LOST_FACTOR;
  const lost = missed > 0 && missed % patience === 0;
  return { liveness: { online: false, heard: false, missed, run }, effects: lost ? ['lost'] : [] };
}
