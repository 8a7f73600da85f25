/** Of things that are many so many are named in one sentence. */
export const MOST_NAMED = 5;

/** `a, b, c, d, e and 3 more` */
export function named(names: readonly string[]): string {
  const some = names.slice(0, MOST_NAMED).join(', ');
  return names.length > MOST_NAMED ? `${some} and ${names.length - MOST_NAMED} more` : some;
}
