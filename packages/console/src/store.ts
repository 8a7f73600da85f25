import { computed, type ReadonlySignal } from '@preact/signals';
import type { Api } from './api/client.js';
import type { Job } from './api/types.js';
import { readNodes } from './live/all-nodes.js';
import type { Live } from './live/connection.js';
import { applyToFleet, type Fleet, fleetOf } from './live/fleet.js';
import { applyToJobs } from './live/jobs.js';
import { type Loaded, Snapshot, throttled } from './live/snapshot.js';

/** Jobs that the overview knows. */
const RECENT_JOBS = 50;
/** Counts of jobs that run are read at most so often, and only while something happens. */
const COUNTS_MS = 1000;

/** What several screens show, kept once for a tab: read when it is first asked for, and followed from then on. */
export class Store {
  readonly #api: Api;
  readonly #live: Live;
  #fleet: Snapshot<Fleet> | null = null;
  #recent: Snapshot<readonly Job[]> | null = null;
  #counts: ReturnType<typeof throttled> | null = null;

  constructor(api: Api, live: Live) {
    this.#api = api;
    this.#live = live;
  }

  get fleet(): Snapshot<Fleet> {
    this.#fleet ??= new Snapshot<Fleet>({
      live: this.#live,
      selector: "type LIKE 'node.%'",
      load: async (signal) => {
        const { value, position } = await this.#api.at(() => readNodes(this.#api, signal));
        return { value: fleetOf(value), position };
      },
      apply: applyToFleet,
    });
    return this.#fleet;
  }

  /** The newest push jobs. */
  get recent(): Snapshot<readonly Job[]> {
    if (this.#recent === null) {
      const load = (signal: AbortSignal) =>
        this.#api.at(() => this.#api.get<readonly Job[]>('/pushy/jobs', { detail: true, limit: RECENT_JOBS }, signal));
      const recent = new Snapshot<readonly Job[]>({
        live: this.#live,
        selector: "type LIKE 'push.%'",
        load,
        apply: (jobs, events) => {
          const after = applyToJobs(jobs, events);
          if (after.stale) this.#counts?.ask();
          return after.jobs;
        },
      });
      this.#counts = throttled(COUNTS_MS, () => {
        this.#api.get<readonly Job[]>('/pushy/jobs', { detail: true, limit: RECENT_JOBS }).then(
          ({ body }) => recent.replace(() => body),
          // No other event may come that would ask for it: it is read until it could be.
          () => void recent.reload(),
        );
      });
      this.#recent = recent;
    }
    return this.#recent;
  }

  stop(): void {
    this.#fleet?.stop();
    this.#recent?.stop();
    this.#counts?.stop();
  }
}

/** Something made of what was loaded. */
export function derived<State, Made>(
  snapshot: Snapshot<State>,
  make: (state: State) => Made,
): ReadonlySignal<Loaded<Made>> {
  return computed(() => {
    const { value } = snapshot.loaded;
    return value.state === 'ready' ? { state: 'ready', value: make(value.value) } : value;
  });
}
