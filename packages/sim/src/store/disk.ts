/** What the rules of a store look at: which rows are durable, and in which order they came to be so. */
export class Disk {
  readonly #rows: number[] = [];
  readonly #places = new Map<number, number>();

  /** Where the next row comes to stand. */
  get next(): number {
    return this.#rows.length;
  }

  /** One transaction: all at once. Answers a row that was there already. */
  commit(rows: readonly number[]): number | null {
    for (const row of rows) {
      if (this.#places.has(row)) return row;
      this.#places.set(row, this.#rows.length);
      this.#rows.push(row);
    }
    return null;
  }

  has(row: number): boolean {
    return this.#places.has(row);
  }

  /** In which it was stored, counted from 0; null: it was not. */
  placeOf(row: number): number | null {
    return this.#places.get(row) ?? null;
  }
}
