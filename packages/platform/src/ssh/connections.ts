import type { Clock } from '@muster/base';
import { SshTrouble } from './errors.js';
import type { SshLink } from './link.js';

export interface ConnectionsOptions {
  /** At one time. */
  readonly most: number;
  readonly clock: Clock;
  /** How long one that finds no room waits. */
  readonly waitMs: number;
  /** What the limit is called where it can be changed. */
  readonly setting: string;
}

interface Waiting {
  readonly go: () => void;
}

/** So many connections at one time, whatever host they lead to: who finds no room has one closed that nobody uses, or waits. */
export class SshConnections {
  readonly #options: ConnectionsOptions;
  /** Those that are open, the one that was opened first first. */
  readonly #open = new Set<SshLink>();
  #taken = 0;
  readonly #waiting: Waiting[] = [];

  constructor(options: ConnectionsOptions) {
    this.#options = options;
  }

  get open(): number {
    return this.#taken;
  }

  /** For `LinkOptions.admit`. @throws SshTrouble when there was no room for too long. */
  async admit(link: SshLink): Promise<() => void> {
    if (this.#taken >= this.#options.most) await this.#room();
    else this.#taken += 1;
    this.#open.add(link);
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#open.delete(link);
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next.go();
    };
  }

  /** The place of one that was closed. */
  #room(): Promise<void> {
    const { clock, waitMs, most, setting } = this.#options;
    return new Promise((resolve, reject) => {
      const timer = clock.after(waitMs, () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        const text = `the server has ${most} connections open already, and none became free in ${waitMs / 1000} s (${setting})`;
        reject(new SshTrouble('CONNECTION_FAILURE', text));
      });
      const waiting: Waiting = {
        go: () => {
          timer.cancel();
          resolve();
        },
      };
      this.#waiting.push(waiting);
      for (const link of this.#open) if (link.rest()) break;
    });
  }
}
