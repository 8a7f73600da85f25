import { RE2JS, RE2JSException } from 're2js';

/** Characters of one. */
const MOST_PATTERN = 1024;
/** Steps of the program that it becomes: matching takes so much for each character at most. */
const MOST_STEPS = 500;
/** Those of apps that are in use. */
const MOST_KEPT = 1000;

const compiled = new Map<string, RE2JS>();

/**
 * The regular expressions of apps, in the syntax of RE2: what Java has, without look-around and back-references. Matching
 * takes time in proportion to the text, whatever the expression is, so that nobody holds a server up with one.
 */
function expression(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const made = RE2JS.compile(pattern);
  const oldest = compiled.size >= MOST_KEPT ? compiled.keys().next() : undefined;
  if (oldest?.done === false) compiled.delete(oldest.value);
  compiled.set(pattern, made);
  return made;
}

/** Why it cannot be used; null when it can. */
export function validatorProblem(pattern: string): string | null {
  if (pattern.length > MOST_PATTERN) return `must have at most ${MOST_PATTERN} characters`;
  try {
    return expression(pattern).programSize() > MOST_STEPS ? 'is too large: use smaller numbers of repetitions' : null;
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return `must be a regular expression without look-around and back-references: ${error.message}`;
  }
}

/** From its beginning to its end. */
export function conforms(pattern: string, value: string): boolean {
  return expression(pattern).matches(value);
}
