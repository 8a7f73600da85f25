/** A server of the cluster that takes connections of nodes. */
export interface Spot {
  /** How many nodes it is to have beside the others, relative to theirs; 0: none. */
  readonly weight: number;
  /** That were sent there. */
  readonly nodes: ReadonlySet<string>;
}

/** A node stays where it is unless that has so many times as many nodes, by weight, as it would have elsewhere. */
const UNEVEN = 1.2;

/**
 * Where a node that asks is sent: where it was, unless another spot has much more room; else where there is most. Of spots with equally much the first.
 * null: there is no spot.
 */
export function spotFor<S extends Spot>(node: string, spots: readonly S[]): S | null {
  const held = spots.find(({ nodes }) => nodes.has(node));
  const best = roomiest(spots, ({ nodes }) => nodes.size);
  if (held === undefined) return best ?? spots[0] ?? null;
  return best !== null && isUneven(held, held.nodes.size, best, best.nodes.size) ? best : held;
}

/**
 * Nodes that would be sent elsewhere, were they to ask now: at most `most` of those that `mayMove`, besides those in `told`, which are on their
 * way already. Servers that join, leave or drain so get their share little by little.
 */
export function misplaced(
  spots: readonly Spot[],
  { told, most, mayMove }: { told: ReadonlySet<string>; most: number; mayMove: (node: string) => boolean },
): readonly string[] {
  const sizes = new Map(spots.map((spot) => [spot, spot.nodes.size]));
  const sizeOf = (spot: Spot): number => sizes.get(spot) ?? 0;
  const found: string[] = [];
  for (const spot of spots) {
    for (const node of spot.nodes) {
      const best = roomiest(spots, sizeOf);
      if (best === null || !isUneven(spot, sizeOf(spot), best, sizeOf(best))) break;
      if (!told.has(node)) {
        if (found.length >= most) break;
        if (!mayMove(node)) continue;
        found.push(node);
      }
      sizes.set(spot, sizeOf(spot) - 1).set(best, sizeOf(best) + 1);
    }
  }
  return found;
}

function roomiest<S extends Spot>(spots: readonly S[], sizeOf: (spot: S) => number): S | null {
  let best: S | null = null;
  for (const spot of spots) {
    if (spot.weight === 0) continue;
    if (best === null || (sizeOf(spot) + 1) / spot.weight < (sizeOf(best) + 1) / best.weight) best = spot;
  }
  return best;
}

function isUneven(held: Spot, heldSize: number, best: Spot, bestSize: number): boolean {
  if (held === best) return false;
  if (held.weight === 0) return heldSize > 0;
  return heldSize / held.weight > (UNEVEN * (bestSize + 1)) / best.weight;
}
