import { MusterError } from '@muster/base/errors';
import type { Hints } from '@muster/store';
import type { DiskConditions } from '../kernel/faulty-lane.js';
import type { Random } from '../kernel/random.js';
import type { Process, Timeline } from '../kernel/timeline.js';

export interface GateWorld {
  readonly timeline: Timeline;
  readonly random: Random;
  readonly disk: DiskConditions;
  /** Reads fail, too. */
  readonly reads: { readonly failing: boolean };
}

/** What stands between a process and what it reads: reads take their time, fail, and are never answered to one that is gone. */
export function readingOf(process: Process, { timeline, random, disk, reads }: GateWorld): () => Promise<void> {
  return async () => {
    const idle = disk.delayMs === 0 && process.alive && process.frozenUntil <= timeline.now;
    if (!idle) {
      await new Promise<void>((resolve) => {
        timeline.after(random.between(0, disk.delayMs), process, resolve);
      });
    }
    if (reads.failing) throw new MusterError('store_unavailable', { reason: 'the disk is in trouble' });
  };
}

/** A process that is gone hears no hints and gives none. */
export function hintsOf(process: Process, hints: Hints, timeline: Timeline): Hints {
  return {
    send: (topic, text) => {
      if (process.alive) hints.send(topic, text);
    },
    listen: (topic, hear) => hints.listen(topic, (text) => void timeline.after(0, process, () => hear(text))),
  };
}
