import { type Pin, places } from './pins.js';

/** As much of a bucket as is needed to choose an attribute. */
interface Bucket<Clause> {
  readonly list: readonly { readonly clause: Clause }[];
  readonly depth: number;
  uses(attribute: string): boolean;
  room(clause: Clause): number;
}

/** Clauses looked at, so that choosing never takes long. */
const SAMPLE = 64;
/** The share of clauses that may be left for an event, below the first level: a look-up and its memory must pay. */
const WORTH_IT = 0.6;

/**
 * The attribute that leaves the fewest clauses for an event, if events are like clauses: a value that many ask for comes
 * often. The first level takes any attribute, so that no clause is evaluated on events without it.
 */
export function attributeToTellApart<Clause extends { readonly pins: readonly Pin[] }>(
  bucket: Bucket<Clause>,
): string | null {
  const tallies = new Map<string, Tally>();
  const stride = Math.max(1, Math.floor(bucket.list.length / SAMPLE));
  for (const [position, { clause }] of bucket.list.entries()) {
    if (position % stride !== 0) continue;
    const room = bucket.room(clause);
    for (const pin of clause.pins) {
      if (places(pin) > room) continue;
      const tally = tallies.get(pin.attribute) ?? new Tally();
      tallies.set(pin.attribute, tally);
      tally.count(pin);
    }
  }
  let best: string | null = null;
  let most = -1;
  for (const [attribute, tally] of tallies) {
    if (bucket.uses(attribute)) continue;
    const left = tally.left();
    if (bucket.depth > 0 && left > tally.clauses * WORTH_IT) continue;
    const spared = tally.clauses - left;
    if (spared > most) [best, most] = [attribute, spared];
  }
  return best;
}

class Tally {
  clauses = 0;
  readonly #alike = new Map<string | number, number>();
  #intervals = 0;
  #present = 0;

  count(pin: Pin): void {
    this.clauses += 1;
    switch (pin.kind) {
      case 'values':
        for (const value of pin.values) this.#add(value);
        return;
      case 'prefix':
        this.#add(`${pin.prefix}%`);
        return;
      case 'interval':
        this.#intervals += 1;
        return;
      case 'present':
        this.#present += 1;
        return;
    }
  }

  /** How many clauses an event finds on average: half of the intervals, and all that only ask for the attribute. */
  left(): number {
    let entries = 0;
    let squares = 0;
    for (const alike of this.#alike.values()) {
      entries += alike;
      squares += alike * alike;
    }
    return (entries === 0 ? 0 : squares / entries) + this.#intervals / 2 + this.#present;
  }

  #add(key: string | number): void {
    this.#alike.set(key, (this.#alike.get(key) ?? 0) + 1);
  }
}
