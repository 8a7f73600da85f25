/** A line of a difference: in both, only in the first, only in the second; or so many left out. */
export type DiffLine =
  | { readonly kind: 'same' | 'removed' | 'added'; readonly text: string }
  | { readonly kind: 'skipped'; readonly lines: number };

/** Pairs of lines that are compared; texts that differ over more are told apart line for line, without looking for what moved. */
const MOST_PAIRS = 4_000_000;
/** Lines that stay, shown around those that do not. */
const AROUND = 1;

/** What turns the lines `before` into `after`, by a longest common subsequence. */
export function lineDiff(before: readonly string[], after: readonly string[]): DiffLine[] {
  let first = 0;
  while (first < before.length && first < after.length && before[first] === after[first]) first++;
  let last = 0;
  while (
    last < before.length - first &&
    last < after.length - first &&
    before[before.length - 1 - last] === after[after.length - 1 - last]
  ) {
    last++;
  }
  const same = (text: string): DiffLine => ({ kind: 'same', text });
  const middle = changed(before.slice(first, before.length - last), after.slice(first, after.length - last));
  return shortened([...before.slice(0, first).map(same), ...middle, ...before.slice(before.length - last).map(same)]);
}

function changed(before: readonly string[], after: readonly string[]): DiffLine[] {
  const removed = (text: string): DiffLine => ({ kind: 'removed', text });
  const added = (text: string): DiffLine => ({ kind: 'added', text });
  if (before.length * after.length > MOST_PAIRS) return [...before.map(removed), ...after.map(added)];
  const width = after.length + 1;
  /** Length of the longest common subsequence of what follows line `i` and line `j`. */
  const common = new Uint32Array((before.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      common[i * width + j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: DiffLine[] = [];
  let j = 0;
  for (const [i, text] of before.entries()) {
    while (j < after.length && after[j] !== text && at(i, j + 1) > at(i + 1, j)) lines.push(added(after[j++] ?? ''));
    if (j < after.length && after[j] === text) {
      lines.push({ kind: 'same', text });
      j++;
    } else lines.push(removed(text));
  }
  return [...lines, ...after.slice(j).map(added)];
}

/** Of the lines that stay only those beside others. */
function shortened(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [index, { kind }] of lines.entries()) {
    if (kind !== 'same') for (let n = index - AROUND; n <= index + AROUND; n++) near.add(n);
  }
  const shown: DiffLine[] = [];
  for (const [index, line] of lines.entries()) {
    const before = shown.at(-1);
    if (near.has(index)) shown.push(line);
    else if (before?.kind === 'skipped') shown[shown.length - 1] = { kind: 'skipped', lines: before.lines + 1 };
    else shown.push({ kind: 'skipped', lines: 1 });
  }
  return shown;
}
