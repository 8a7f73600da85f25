import type { JobNodeStatus, JobStatus } from '../api/types.js';
import type { Look } from './look.js';

export const JOB_LOOKS: Readonly<Record<JobStatus, Look>> = {
  new: { glyph: 'dots', word: 'new', tone: 'idle' },
  voting: { glyph: 'dots', word: 'voting', tone: 'run' },
  running: { glyph: 'play', word: 'running', tone: 'run' },
  complete: { glyph: 'check', word: 'complete', tone: 'ok' },
  quorum_failed: { glyph: 'ban', word: 'no quorum', tone: 'bad' },
  timed_out: { glyph: 'clock', word: 'timed out', tone: 'bad' },
  aborted: { glyph: 'stop', word: 'aborted', tone: 'warn' },
  crashed: { glyph: 'bang', word: 'crashed', tone: 'bad' },
};

/** Complete, though the command failed on some node. */
export const WITH_FAILURES: Look = { glyph: 'bang', word: 'with failures', tone: 'warn' };

/** “Complete” is green only if nothing failed. */
export function jobLook(status: JobStatus, failed: number): Look {
  if (status === 'complete' && failed > 0) return WITH_FAILURES;
  return JOB_LOOKS[status];
}

export const JOB_NODE_LOOKS: Readonly<Record<JobNodeStatus, Look>> = {
  new: { glyph: 'dots', word: 'asked', tone: 'idle' },
  ready: { glyph: 'circle', word: 'ready', tone: 'idle' },
  running: { glyph: 'play', word: 'running', tone: 'run' },
  succeeded: { glyph: 'check', word: 'succeeded', tone: 'ok' },
  failed: { glyph: 'cross', word: 'failed', tone: 'bad' },
  aborted: { glyph: 'stop', word: 'aborted', tone: 'warn' },
  crashed: { glyph: 'bang', word: 'crashed', tone: 'bad' },
  nacked: { glyph: 'ban', word: 'refused', tone: 'warn' },
  unavailable: { glyph: 'dash', word: 'unavailable', tone: 'warn' },
  was_ready: { glyph: 'circle', word: 'not started', tone: 'idle' },
  timed_out: { glyph: 'clock', word: 'timed out', tone: 'bad' },
};
