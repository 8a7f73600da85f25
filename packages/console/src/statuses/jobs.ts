import type { Look } from './look.js';

/** In the order in which jobs come to them. */
export const STATUSES = [
  'ACCEPTED',
  'PENDING',
  'PROCESSING_INPUTS',
  'STAGING_INPUTS',
  'STAGED',
  'STAGING_JOB',
  'SUBMITTING',
  'QUEUED',
  'RUNNING',
  'CLEANING_UP',
  'ARCHIVING',
  'BLOCKED',
  'PAUSED',
  'FINISHED',
  'STOPPED',
  'FAILED',
] as const;
export type LongStatus = (typeof STATUSES)[number];

/** Through which a job goes that nothing stands in the way of. */
export const WAY: readonly LongStatus[] = STATUSES.slice(0, STATUSES.indexOf('BLOCKED'));

const ENDED: ReadonlySet<string> = new Set<LongStatus>(['FINISHED', 'STOPPED', 'FAILED']);

export function isStatus(text: string): text is LongStatus {
  return (STATUSES as readonly string[]).includes(text);
}

export function hasEnded(status: string): boolean {
  return ENDED.has(status);
}

const GLYPHS: Readonly<Partial<Record<LongStatus, Pick<Look, 'glyph' | 'tone'>>>> = {
  ACCEPTED: { glyph: 'dots', tone: 'idle' },
  PENDING: { glyph: 'dots', tone: 'idle' },
  QUEUED: { glyph: 'clock', tone: 'run' },
  BLOCKED: { glyph: 'bang', tone: 'warn' },
  PAUSED: { glyph: 'stop', tone: 'idle' },
  FINISHED: { glyph: 'check', tone: 'ok' },
  STOPPED: { glyph: 'stop', tone: 'warn' },
  FAILED: { glyph: 'cross', tone: 'bad' },
};

/** Jobs that another system ran have statuses of their own. */
export function longJobLook(status: string): Look {
  const known = isStatus(status) ? GLYPHS[status] : undefined;
  return { word: word(status), ...(known ?? { glyph: 'play', tone: 'run' }) };
}

/** Of a status that is over: of the way it was done, what stood in the way looks as it did. */
export function passedLook(status: LongStatus): Look {
  return WAY.includes(status) ? { word: word(status), glyph: 'check', tone: 'idle' } : longJobLook(status);
}

export function word(status: string): string {
  return status.toLowerCase().replaceAll('_', ' ');
}
