import type { Clock } from '@muster/base';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Paces } from './limits.js';
import { pause } from './pause.js';
import { Window } from './window.js';

export interface TurnsDeps {
  readonly clock: Clock;
  readonly paces: Paces;
  /** From 0 to 1, which is not included. */
  readonly chance: () => number;
  readonly log: LayerLog;
}

/** Spreads bursts (sheet §6.5): beyond so many in so long, each waits once for a random time. */
export class Turns {
  readonly #deps: TurnsDeps;
  readonly #starts: Window;
  readonly #launches: Window;

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
    this.#starts = new Window(deps.paces.starts, deps.clock);
    this.#launches = new Window(deps.paces.launches, deps.clock);
  }

  /** Of a job that begins. */
  async start(job: string, signal: AbortSignal): Promise<void> {
    if (!this.#starts.take()) await this.#delay({ job }, 'JOBS_DELAYED_START', signal);
  }

  /** Of a program that is started on a host. */
  async launch(host: string, signal: AbortSignal): Promise<void> {
    if (!this.#launches.take(host)) await this.#delay({ host }, 'JOBS_DELAYED_LAUNCH', signal);
  }

  #delay(what: object, code: string, signal: AbortSignal): Promise<void> {
    const { clock, paces, chance, log } = this.#deps;
    const [least, most] = paces.delayMs;
    const ms = least + Math.floor(chance() * (most - least + 1));
    log.debug({ ...what, ms }, code);
    return pause(clock, ms, signal);
  }
}
