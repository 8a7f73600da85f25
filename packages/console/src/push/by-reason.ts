interface Told {
  readonly node_name: string;
  readonly reason: string;
}

export interface SameReason {
  readonly reason: string;
  readonly names: readonly string[];
}

/** Nodes of which the same is told, the most first. Pure. */
export function byReason(told: readonly Told[]): readonly SameReason[] {
  const names = new Map<string, string[]>();
  for (const { node_name: name, reason } of told) {
    const same = names.get(reason);
    if (same === undefined) names.set(reason, [name]);
    else same.push(name);
  }
  return [...names].map(([reason, of]) => ({ reason, names: of })).sort((a, b) => b.names.length - a.names.length);
}
