import { SelectorError } from './error.js';

/**
 * LIKE patterns and wildcards, compiled to the same steps and matched without regular expressions.
 *
 * Two pointers walk over pattern and text; on a mismatch they return to the last ANY only, with the text one character
 * further. Going back to an earlier ANY can never help, because the last one already takes any text. So there is no
 * exponential case: at most (characters of the text) x (longest stretch between two ANYs) steps, one pass for the usual
 * pattern, and the stretch is bounded by LIMITS.patternLength.
 */
export type Pattern = readonly Step[];

const ANY = -1;
const ONE = -2;
/** ANY, ONE or a code point. */
type Step = number;

/** @throws SelectorError unless `character` is just one, and not the last of the pattern. */
export function checkEscape(pattern: string, character: string, patternAt: number, escapeAt: number): void {
  if ([...character].length !== 1) {
    throw new SelectorError(escapeAt, 'ESCAPE takes exactly one character', "Write ESCAPE '\\'.");
  }
  let escaped = false;
  for (const each of pattern) escaped = !escaped && each === character;
  if (escaped) {
    throw new SelectorError(patternAt, 'nothing follows the escape character', 'Write it twice to mean itself.');
  }
}

export function likePattern(pattern: string, escapeCharacter: string | null): Pattern {
  return compilePattern(pattern, '%', '_', escapeCharacter);
}

/** How every text begins that is LIKE it. `whole`: it is that text alone. */
export function likePrefix(pattern: string, escapeCharacter: string | null) {
  return literalPrefix(likePattern(pattern, escapeCharacter));
}

export function globPattern(pattern: string): Pattern {
  return compilePattern(pattern, '*', '?', '\\');
}

function compilePattern(pattern: string, any: string, one: string, escapeCharacter: string | null): Pattern {
  const steps: Step[] = [];
  let literally = false;
  for (const character of pattern) {
    if (literally) {
      steps.push(codePoint(character, 0));
      literally = false;
    } else if (character === escapeCharacter) literally = true;
    else if (character === any) {
      if (steps.at(-1) !== ANY) steps.push(ANY);
    } else if (character === one) steps.push(ONE);
    else steps.push(codePoint(character, 0));
  }
  return steps;
}

/** The text that whatever matches starts with, and whether nothing else matches. */
export function literalPrefix(pattern: Pattern): { readonly text: string; readonly whole: boolean } {
  const end = pattern.findIndex((step) => step < 0);
  const literal = end < 0 ? pattern : pattern.slice(0, end);
  return { text: literal.map((point) => String.fromCodePoint(point)).join(''), whole: end < 0 };
}

export function matches(pattern: Pattern, text: string): boolean {
  let step = 0;
  let at = 0;
  /** The step after the last ANY, and where the text goes on if that ANY takes one character more. */
  let afterAny = -1;
  let resume = 0;
  while (at < text.length) {
    const wanted = pattern[step];
    if (wanted === ANY) {
      step += 1;
      afterAny = step;
      resume = at;
      continue;
    }
    const found = codePoint(text, at);
    if (wanted === ONE || wanted === found) {
      step += 1;
      at += width(found);
      continue;
    }
    if (afterAny < 0) return false;
    resume += width(codePoint(text, resume));
    at = resume;
    step = afterAny;
  }
  if (pattern[step] === ANY) step += 1;
  return step === pattern.length;
}

function codePoint(text: string, at: number): number {
  return text.codePointAt(at) ?? 0;
}

function width(point: number): number {
  return point > 0xffff ? 2 : 1;
}
