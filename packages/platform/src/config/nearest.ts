/** Longer names are not worth guessing at. */
const MAX_LENGTH = 64;

function distance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (left[i - 1] === right[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}

/** The name that was probably meant: at most a third of it differs. */
export function nearest(wrong: string, known: readonly string[]): string | undefined {
  if (wrong.length > MAX_LENGTH) return undefined;
  const ranked = known
    .map((name) => ({ name, distance: distance(wrong.toLowerCase(), name.toLowerCase()) }))
    .filter(({ name, distance: far }) => far <= Math.max(2, Math.floor(name.length / 3)))
    .sort((a, b) => a.distance - b.distance);
  return ranked[0]?.name;
}

/** Input as it may be shown in a message: short, and on one line. */
export function shown(text: string): string {
  const short = text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}…` : text;
  return short.replaceAll(/\p{Cc}/gu, '?');
}
