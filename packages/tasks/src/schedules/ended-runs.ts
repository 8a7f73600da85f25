import { type Recorder, readOwnEvent, type StoredEvent, typeOfOwn } from '@muster/platform/log';
import type { LiveSchedule } from './live-schedule.js';

/** Events that may tell of the end of a run, and which of their attributes names it. */
const ENDS: Readonly<Record<string, 'job' | 'task'>> = {
  'task.ended': 'task',
  'task.removed': 'task',
  'push.job_complete': 'job',
  'push.job': 'job',
};

/** Hears when the runs end that others wait for. While nothing waits it looks at no event. */
export class EndedRuns {
  readonly #recorder: Pick<Recorder, 'onStored'>;
  readonly #ended: () => void;
  readonly #waiting = new Map<LiveSchedule, string>();
  #stopListening: () => void = () => undefined;

  /** @param ended Something ended that may be waited for. */
  constructor(recorder: Pick<Recorder, 'onStored'>, ended: () => void) {
    this.#recorder = recorder;
    this.#ended = ended;
  }

  start(): void {
    this.#stopListening = this.#recorder.onStored((events) => {
      if (this.#waiting.size === 0) return;
      const awaited = new Set(this.#waiting.values());
      if (events.some((event) => tellsOf(event, awaited))) this.#ended();
    });
  }

  stop(): void {
    this.#stopListening();
  }

  /** @param run What has to end first; null: nothing waits. */
  waits(live: LiveSchedule, run: string | null): void {
    if (run === null) this.#waiting.delete(live);
    else this.#waiting.set(live, run);
  }

  forget(live: LiveSchedule): void {
    this.#waiting.delete(live);
  }
}

function tellsOf({ recorded }: StoredEvent, awaited: ReadonlySet<string>): boolean {
  if (recorded.origin.kind !== 'server') return false;
  const type = typeOfOwn(recorded);
  const attribute = Object.hasOwn(ENDS, type) ? ENDS[type] : undefined;
  if (attribute === undefined) return false;
  // Of tasks that were deleted together only the first is named.
  return type === 'task.removed' || awaited.has(readOwnEvent(recorded).attributes[attribute] ?? '');
}
