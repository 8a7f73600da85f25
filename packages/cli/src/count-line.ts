import { formatDuration } from './duration.js';
import { REDRAW_MS } from './limits.js';
import type { World } from './world.js';

/** How many of something have been done so far, on a terminal, redrawn in place; elsewhere nothing. */
export class CountLine {
  readonly #world: World;
  readonly #noun: string;
  readonly #live: boolean;
  readonly #startedAt: number;
  readonly #from: number;
  readonly #of: string;
  #drawnAt = Number.NEGATIVE_INFINITY;

  /** @param known What was done before, which the rate leaves out, and how many there are. */
  constructor(
    world: World,
    noun: string,
    { from = 0, total }: { readonly from?: number; readonly total?: number } = {},
  ) {
    this.#world = world;
    this.#noun = noun;
    this.#live = world.stderr.isTTY === true && world.env.TERM !== 'dumb';
    this.#startedAt = world.now();
    this.#from = from;
    this.#of = total === undefined ? '' : ` of ${total.toLocaleString('en')}`;
  }

  update(count: number): void {
    const now = this.#world.now();
    if (!this.#live || now - this.#drawnAt < REDRAW_MS) return;
    this.#drawnAt = now;
    const seconds = Math.max(0.001, (now - this.#startedAt) / 1000);
    const rate = Math.round((count - this.#from) / seconds).toLocaleString('en');
    this.#world.stderr.write(
      `\r\u001b[2K${count.toLocaleString('en')}${this.#of} ${this.#noun}  ${rate}/s  ${formatDuration(seconds)}`,
    );
  }

  /** Takes the line away. */
  done(): void {
    if (this.#drawnAt > Number.NEGATIVE_INFINITY) this.#world.stderr.write('\r\u001b[2K');
  }
}
