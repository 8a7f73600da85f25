import type { QueueState } from '../live/queues.js';
import type { ListedTask, TaskStatus } from '../live/tasks.js';
import type { Look } from './look.js';

export const TASK_LOOKS: Readonly<Record<TaskStatus, Look>> = {
  queued: { glyph: 'dots', word: 'queued', tone: 'idle' },
  blocked: { glyph: 'dash', word: 'blocked', tone: 'idle' },
  held: { glyph: 'stop', word: 'held', tone: 'warn' },
  claimed: { glyph: 'circle', word: 'claimed', tone: 'run' },
  running: { glyph: 'play', word: 'running', tone: 'run' },
  succeeded: { glyph: 'check', word: 'succeeded', tone: 'ok' },
  failed: { glyph: 'cross', word: 'failed', tone: 'bad' },
  orphaned: { glyph: 'bang', word: 'orphaned', tone: 'bad' },
  cancelled: { glyph: 'ban', word: 'cancelled', tone: 'warn' },
  terminated: { glyph: 'ban', word: 'killed', tone: 'warn' },
};

export const QUEUE_LOOKS: Readonly<Record<QueueState, Look>> = {
  open: { glyph: 'play', word: 'open', tone: 'ok' },
  paused: { glyph: 'stop', word: 'paused', tone: 'warn' },
  draining: { glyph: 'down', word: 'draining', tone: 'warn' },
};

export function taskLook({ status, cancelling }: Pick<ListedTask, 'cancelling' | 'status'>): Look {
  return cancelling ? { glyph: 'ban', word: 'ending', tone: 'warn' } : TASK_LOOKS[status];
}
