/**
 * What runs have reached, and how often: states, transitions between them, and moments that are rare. A simulation that
 * no longer comes to a place proves nothing about it.
 */
export class Coverage {
  readonly #counts = new Map<string, number>();

  get counts(): ReadonlyMap<string, number> {
    return this.#counts;
  }

  reach(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }

  add(counts: ReadonlyMap<string, number>): void {
    for (const [what, count] of counts) this.#counts.set(what, (this.#counts.get(what) ?? 0) + count);
  }

  /** Of those that ought to be reached, the ones that were not. */
  missing(wanted: readonly string[]): string[] {
    return wanted.filter((what) => !this.#counts.has(what));
  }

  /** By the word before the colon, a line for each; `rare` ones are there even if nobody came to them. */
  table(rare: readonly string[]): string[] {
    const all = new Map<string, number>([...rare.map((what) => [what, 0] as const), ...this.#counts]);
    const widest = Math.max(...[...all.keys()].map(({ length }) => length));
    return [...all]
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([what, count]) => `${what.padEnd(widest)} ${String(count).padStart(9)}${mark(count, rare.includes(what))}`);
  }
}

function mark(count: number, rare: boolean): string {
  if (!rare) return '';
  return count === 0 ? '  rare, NOT REACHED' : '  rare';
}
