import { setTimeout as sleep } from 'node:timers/promises';
import type { Lane } from './lane.js';

/** Longest rest between two writes. */
const MOST_MS = 20;

/**
 * After a write the lane rests for as long as the write took. The event loop stands still during a commit, so under
 * load it belongs to the database for at most half of the time, and what happens meanwhile shares the next commit: its
 * syncs, its pages, and the rows that change twice. A write that comes after a while does not wait.
 */
export function resting(lane: Lane): Lane {
  let restUntil = 0;
  return {
    async write(id, batch) {
      const began = performance.now();
      const outcome = await lane.write(id, batch);
      const ended = performance.now();
      restUntil = ended + Math.min(ended - began, MOST_MS);
      return outcome;
    },
    async rest() {
      const left = restUntil - performance.now();
      if (left > 0) await sleep(left);
    },
    transact: (id, work) => lane.transact(id, work),
    outcome: (id) => lane.outcome(id),
    probe: (id) => lane.probe(id),
    close: () => lane.close(),
  };
}
