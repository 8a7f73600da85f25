import type { Owner } from '../live/fleet.js';
import type { Look } from './look.js';

export const OWNER_LOOKS: Readonly<Record<Owner, Look>> = {
  idle: { glyph: 'check', word: 'idle', tone: 'ok' },
  job: { glyph: 'play', word: 'in a job', tone: 'run' },
  rehab: { glyph: 'loop', word: 'rehab', tone: 'warn' },
  down: { glyph: 'cross', word: 'down', tone: 'bad' },
};
