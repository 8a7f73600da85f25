/** Of things that are many so many are named in one sentence. */
export const MOST_NAMED = 5;

/** `a, b, c, d, e and 3 more` */
export function named(names: readonly string[], most: number = MOST_NAMED): string {
  const some = names.slice(0, most).join(', ');
  return names.length > most ? `${some} and ${names.length - most} more` : some;
}
