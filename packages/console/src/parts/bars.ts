/** Of the picture they stand in. */
export const HEIGHT = 16;

/** Their heights: what is not nothing is seen, what is nothing is a line. */
export function barsOf(values: readonly number[]): readonly number[] {
  const most = Math.max(...values, 1);
  return values.map((value) => (value === 0 ? 1 : Math.max(3, Math.round((value / most) * HEIGHT))));
}
