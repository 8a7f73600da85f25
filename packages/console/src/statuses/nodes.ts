import type { Owner } from '../live/fleet.js';
import type { Look } from './look.js';

/** As docs/guide/concepts.md explains it. */
const REHAB =
  'Rehab: its state is not known, so it is told to abort until it confirms that nothing runs there any more';

export const OWNER_LOOKS: Readonly<Record<Owner, Look>> = {
  idle: { glyph: 'check', word: 'idle', tone: 'ok' },
  job: { glyph: 'play', word: 'in a job', tone: 'run' },
  rehab: { glyph: 'loop', word: 'rehab', tone: 'warn', means: REHAB },
  down: { glyph: 'cross', word: 'down', tone: 'bad' },
};
