/** Names of nodes that fit into a URL that every browser and proxy takes. */
export const MOST_SELECTED = 150;

/** As the URL has it: names of nodes have no commas. */
export function selectionOf(text: string): ReadonlySet<string> {
  return new Set(
    text
      .split(',')
      .filter((name) => name !== '')
      .slice(0, MOST_SELECTED),
  );
}

/** With one more, or without it; no more than fit. */
export function toggled(selected: ReadonlySet<string>, name: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(name) && next.size < MOST_SELECTED) next.add(name);
  return next;
}
