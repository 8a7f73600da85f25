import type { Held } from './held.js';
import type { Offer, OfferedRun } from './plugins.js';

/** Who has a slot, and who waits for one, in the order of their arrival. */
export class Slots {
  readonly #occupied = new Set<Held>();
  #waiting: Held[] = [];

  /** How many wait, those among them that were given back since. */
  get waiting(): number {
    return this.#waiting.length;
  }

  wait(held: Held): void {
    this.#waiting.push(held);
  }

  occupy(held: Held): void {
    this.#occupied.add(held);
  }

  free(held: Held): void {
    this.#occupied.delete(held);
  }

  /** Gives slots, by `give`, to those whose turn it is. */
  fill({ max, plugins }: Offer, give: (held: Held) => void): void {
    if (this.#waiting.length === 0 || this.#occupied.size >= max) return;
    const busy = new Busy(this.#occupied);
    const left: Held[] = [];
    let looked = 0;
    for (; looked < this.#waiting.length && this.#occupied.size < max; looked += 1) {
      const held = this.#waiting[looked];
      const offered = held === undefined ? undefined : plugins.get(held.plugin);
      // It was cancelled or given back while it waited.
      if (held === undefined || offered === undefined || held.state.kind !== 'waiting') continue;
      if (busy.holdsUp(held, offered)) {
        left.push(held);
        continue;
      }
      busy.add(held);
      this.#occupied.add(held);
      give(held);
    }
    this.#waiting = [...left, ...this.#waiting.slice(looked)];
  }
}

/** What has slots, as far as it keeps other tasks waiting. */
class Busy {
  readonly #plugins = new Map<string, number>();
  readonly #tasks = new Set<string>();

  constructor(occupied: Iterable<Held>) {
    for (const held of occupied) this.add(held);
  }

  add({ plugin, ref }: Held): void {
    this.#plugins.set(plugin, (this.#plugins.get(plugin) ?? 0) + 1);
    this.#tasks.add(ref.id);
  }

  /** Its plugin runs as many as it may, or an earlier attempt at the same task is not gone yet. */
  holdsUp({ plugin, ref }: Held, { concurrency }: OfferedRun): boolean {
    const full = concurrency !== null && (this.#plugins.get(plugin) ?? 0) >= concurrency;
    return full || this.#tasks.has(ref.id);
  }
}
