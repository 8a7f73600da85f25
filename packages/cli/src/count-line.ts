import { formatDuration } from './duration.js';
import { REDRAW_MS } from './limits.js';
import type { World } from './world.js';

/** How many of something have been done so far, on a terminal, redrawn in place; elsewhere nothing. */
export class CountLine {
  readonly #world: World;
  readonly #noun: string;
  readonly #live: boolean;
  readonly #startedAt: number;
  #drawnAt = Number.NEGATIVE_INFINITY;

  constructor(world: World, noun: string) {
    this.#world = world;
    this.#noun = noun;
    this.#live = world.stderr.isTTY === true && world.env.TERM !== 'dumb';
    this.#startedAt = world.now();
  }

  update(count: number): void {
    const now = this.#world.now();
    if (!this.#live || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    const seconds = Math.max(0.001, (now - this.#startedAt) / 1000);
    const rate = Math.round(count / seconds).toLocaleString('en');
    this.#world.stderr.write(
      `\r\u001b[2K${count.toLocaleString('en')} ${this.#noun}  ${rate}/s  ${formatDuration(seconds)}`,
    );
  }

  /** Takes the line away. */
  done(): void {
    if (this.#drawnAt > Number.NEGATIVE_INFINITY) this.#world.stderr.write('\r\u001b[2K');
  }
}
