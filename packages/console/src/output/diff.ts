/** What has to be done to one list of lines to get another. */
export interface Change {
  readonly kind: 'same' | 'gone' | 'new';
  readonly line: string;
}

/** Longest lists that are compared: the work grows with their product. */
const MOST_LINES = 400;

/** The fewest lines that differ; null: there are too many to find out while somebody waits. Pure. */
export function diffOf(before: readonly string[], after: readonly string[]): readonly Change[] | null {
  if (before.length > MOST_LINES || after.length > MOST_LINES) return null;
  const width = after.length + 1;
  // Of the rest of both from here on: how many lines they have in common.
  const common = new Uint16Array((before.length + 1) * width);
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      const [down = 0, across = 0, both = 0] = [(i + 1) * width + j, i * width + j + 1, (i + 1) * width + j + 1].map(
        (at) => common[at],
      );
      common[i * width + j] = before[i] === after[j] ? both + 1 : Math.max(down, across);
    }
  }
  const changes: Change[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    const [old, line] = [before[i], after[j]];
    if (old !== undefined && old === line) {
      changes.push({ kind: 'same', line });
      i += 1;
      j += 1;
    } else if (
      line === undefined ||
      (old !== undefined && (common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0))
    ) {
      changes.push({ kind: 'gone', line: old ?? '' });
      i += 1;
    } else {
      changes.push({ kind: 'new', line });
      j += 1;
    }
  }
  return changes;
}
