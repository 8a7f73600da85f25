import { setTimeout } from 'node:timers/promises';
import { SIGNED_QUERY } from './api-client.js';
import type { PushyServer } from './pushy-server.js';
import { until } from './until.js';

/** Each asks the database; together they keep several of its connections busy. */
const CLIENTS = 4;
/** Of a client after each answer: enough to have some under way at any moment, and to leave the processors to others. */
export const PAUSE_MS = 10;
const PATHS = ['pushy/jobs', 'audit?limit=100', 'pushy/jobs?limit=100', 'node_groups'];

/** Clients that read again and again, each one request at a time, and remember every answer that is not 200. */
export class ReadLoad {
  readonly #server: PushyServer;
  readonly #refusals: string[] = [];
  readonly #running: Promise<unknown>;
  #served = 0;
  #stopped = false;

  constructor(server: PushyServer) {
    this.#server = server;
    this.#running = Promise.all(Array.from({ length: CLIENTS }, (_, n) => this.#run(n)));
  }

  /** `STATUS CODE` of every other answer; `cut off` without one. */
  get refusals(): readonly string[] {
    return this.#refusals;
  }

  /** Waits until this many more were served. */
  served(more: number, patienceMs?: number): Promise<boolean> {
    const wanted = this.#served + more;
    return until(`${more} more reads to be served`, () => this.#served >= wanted, patienceMs);
  }

  /** Waits until this many more were refused. */
  refused(more: number, patienceMs?: number): Promise<boolean> {
    const wanted = this.#refusals.length + more;
    return until(`${more} more reads to be refused`, () => this.#refusals.length >= wanted, patienceMs);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(first: number): Promise<void> {
    for (let n = first; !this.#stopped; n++) {
      try {
        const { status, headers } = await this.#server.api.get(PATHS[n % PATHS.length] ?? '', SIGNED_QUERY);
        if (status === 200) this.#served += 1;
        else this.#refusals.push(`${status} ${headers['x-muster-error']}`);
      } catch {
        this.#refusals.push('cut off');
      }
      await setTimeout(PAUSE_MS);
    }
  }
}
