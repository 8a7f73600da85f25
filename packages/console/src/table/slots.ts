/** By key of a row that is drawn: the place in the page that draws it. */
export type Slots = ReadonlyMap<string, number>;

/**
 * Rows that stay keep their places, and those that come take the places of those that have gone: what is in the page is changed, not
 * made anew. Pure.
 */
export function slotsFor(before: Slots, keys: readonly string[]): Slots {
  const after = new Map<string, number>();
  const coming: string[] = [];
  const taken = new Set<number>();
  for (const key of keys) {
    const slot = before.get(key);
    if (slot === undefined) coming.push(key);
    else {
      after.set(key, slot);
      taken.add(slot);
    }
  }
  const free = [...before.values()].filter((slot) => !taken.has(slot)).sort((a, b) => a - b);
  let next = Math.max(-1, ...before.values()) + 1;
  for (const key of coming) after.set(key, free.shift() ?? next++);
  return after;
}
