import type { Clock } from '@muster/base';
import type { ReplayStart } from '../protocol/replay-start.js';
import type { EventLog } from './ports.js';

/** The position after which a new subscription begins: without a start, it gets only what is stored from now on. */
export async function startPosition(from: ReplayStart | null, events: EventLog, clock: Clock): Promise<number> {
  switch (from?.kind) {
    case undefined:
      return events.last();
    case 'first':
      return 0;
    case 'position':
      return Math.min(from.position, events.last());
    case 'time':
      return events.positionBefore(from.atMs);
    case 'ago':
      return events.positionBefore(clock.now() - from.ms);
  }
}
