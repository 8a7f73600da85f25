/** Something that one may go to. */
export interface Goal {
  /** What kind it is: `Node`. */
  readonly kind: string;
  readonly word: string;
  /** What is said of it besides. */
  readonly more?: string;
  readonly href: string;
}

/** Most that are shown at once. */
export const MOST_FOUND = 12;

/**
 * Those that have all the words that were typed, best first: what begins with the text, then a word that does, then what
 * has it anywhere; in their order otherwise.
 */
export function found(goals: readonly Goal[], text: string): readonly Goal[] {
  const typed = text.trim().toLowerCase();
  const words = typed.split(/\s+/);
  const ranked = goals.flatMap((goal, index) => {
    const all = `${goal.word} ${goal.more ?? ''} ${goal.kind}`.toLowerCase();
    if (!words.every((word) => all.includes(word))) return [];
    const name = goal.word.toLowerCase();
    const rank = name.startsWith(typed) ? 0 : ` ${name}`.includes(` ${typed}`) ? 1 : name.includes(typed) ? 2 : 3;
    return [{ goal, rank, index }];
  });
  ranked.sort((a, b) => a.rank - b.rank || a.index - b.index);
  return ranked.slice(0, MOST_FOUND).map(({ goal }) => goal);
}

/** Of these, what the server has found besides gets so many at least. */
const MOST_TOLD = 5;

/** What the page has found, and what the server has besides: nothing twice. */
export function joined(own: readonly Goal[], told: readonly Goal[]): readonly Goal[] {
  const known = new Set(own.map(({ href }) => href));
  const more = told.filter(({ href }) => !known.has(href));
  const mine = own.slice(0, MOST_FOUND - Math.min(more.length, MOST_TOLD));
  return [...mine, ...more].slice(0, MOST_FOUND);
}
