import { setTimeout } from 'node:timers/promises';
import type { PushyServer } from './pushy-server.js';
import { PAUSE_MS } from './read-load.js';
import { until } from './until.js';

export interface LoadOutcome {
  /** Ids of the jobs that were answered 201. */
  readonly acknowledged: readonly string[];
  /** `STATUS CODE` of every other answer; `cut off` without one. */
  readonly refusals: readonly string[];
}

/** One client that submits the same job again and again, one request at a time, and remembers every answer. */
export class JobLoad {
  readonly #server: PushyServer;
  readonly #body: Readonly<Record<string, unknown>>;
  readonly #acknowledged: string[] = [];
  readonly #refusals: string[] = [];
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(server: PushyServer, body: Readonly<Record<string, unknown>>) {
    this.#server = server;
    this.#body = body;
    this.#running = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        const { status, json, headers } = await this.#server.api.post('pushy/jobs', this.#body);
        if (status === 201) this.#acknowledged.push((json as { id: string }).id);
        else this.#refusals.push(`${status} ${headers['x-muster-error']}`);
      } catch {
        this.#refusals.push('cut off');
      }
      await setTimeout(PAUSE_MS);
    }
  }

  /** Waits until this many more were accepted. */
  accepted(more: number): Promise<boolean> {
    const wanted = this.#acknowledged.length + more;
    return until(`${more} more jobs to be accepted`, () => this.#acknowledged.length >= wanted);
  }

  async stop(): Promise<LoadOutcome> {
    this.#stopped = true;
    await this.#running;
    return { acknowledged: this.#acknowledged, refusals: this.#refusals };
  }
}
