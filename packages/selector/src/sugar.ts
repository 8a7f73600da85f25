import { SelectorError } from './error.js';
import { type Bound, EVERYTHING, type Everything, type Glob, type Match, type Range } from './expression.js';
import { LIMITS } from './limits.js';
import { at, isKeyword, scanString, skipSpace, skipSpaceAndComments } from './scanner.js';

/**
 * Lucene-style terms of node search. Whether a term starts here is decided by looking ahead:
 * `field:` begins one, and so does a word that is followed by nothing SQL could go on with.
 */
export interface Term {
  readonly node: Match | Glob | Range | Everything;
  readonly start: number;
  /** Index after the term. */
  readonly end: number;
}

type Scanned = Omit<Term, 'start'>;

/** The attribute a bare word is matched with. */
export const NAME = 'name';

const ALL = /\*:\*/y;
const FIELD = /[A-Za-z_$][\w$.-]*:/y;
const BARE_WORD = /[\w$*?](?:[\w$.*?-]|\\.)*/suy;
const VALUE_WORD = /(?:[^\s()"'[\]{}<>\\]|\\.)+/suy;
const COMPARATOR = />=|<=|>|</y;
const NEXT_WORD = /[A-Za-z_$][\w$.]*/y;

/** Null: what follows is SQL. */
export function scanTerm(text: string, position: number): Term | null {
  const start = skipSpaceAndComments(text, position);
  if (at(ALL, text, start) !== null) return { node: EVERYTHING, start, end: start + 3 };
  const field = at(FIELD, text, start);
  if (field !== null) return { ...scanField(text, start, field), start };
  if (text[start] === '"') {
    const { value, end } = scanQuoted(text, start);
    return endsTerm(text, end) ? { node: match(NAME, value), start, end } : null;
  }
  const word = at(BARE_WORD, text, start);
  if (word === null || isKeyword(word) || !endsTerm(text, start + word.length)) return null;
  return { node: fromWord(NAME, word, start), start, end: start + word.length };
}

/** After closing parentheses only the end, AND or OR: nothing that would make the word an operand. */
function endsTerm(text: string, position: number): boolean {
  let next = skipSpaceAndComments(text, position);
  while (text[next] === ')') next = skipSpaceAndComments(text, next + 1);
  if (next >= text.length) return true;
  const word = at(NEXT_WORD, text, next)?.toUpperCase();
  return word === 'AND' || word === 'OR';
}

function scanField(text: string, start: number, field: string): Scanned {
  const attribute = field.slice(0, -1);
  const from = start + field.length;
  const opening = text[from];
  if (opening === '[' || opening === '{') return scanRange(text, from, attribute);
  const comparator = at(COMPARATOR, text, from);
  if (comparator !== null) {
    const value = scanValue(text, from + comparator.length);
    const bound = freeze({ text: value.text, inclusive: comparator.endsWith('=') });
    const up = comparator.startsWith('>');
    return { node: range(attribute, up ? bound : null, up ? null : bound), end: value.end };
  }
  const value = scanValue(text, from);
  return { node: value.quoted ? match(attribute, value.text) : fromWord(attribute, value.raw, from), end: value.end };
}

/** `[low TO high]`; `{` and `}` leave the end itself out; `*` leaves it open. */
function scanRange(text: string, start: number, attribute: string): Scanned {
  const low = scanValue(text, skipSpace(text, start + 1));
  const to = skipSpace(text, low.end);
  if (at(NEXT_WORD, text, to)?.toUpperCase() !== 'TO') {
    throw new SelectorError(to, "expected 'TO'", 'A range is written cpus:[8 TO 16].');
  }
  const high = scanValue(text, skipSpace(text, to + 2));
  const end = skipSpace(text, high.end);
  const closing = text[end];
  if (closing !== ']' && closing !== '}') {
    throw new SelectorError(end, "expected ']'", 'A range is written cpus:[8 TO 16].');
  }
  const node = range(attribute, bound(low, text[start] === '['), bound(high, closing === ']'));
  return { node, end: end + 1 };
}

function bound(value: ScannedValue, inclusive: boolean): Bound | null {
  return !value.quoted && value.raw === '*' ? null : freeze({ text: value.text, inclusive });
}

interface ScannedValue {
  /** With escapes taken out. */
  readonly text: string;
  readonly raw: string;
  readonly quoted: boolean;
  readonly end: number;
}

function scanValue(text: string, start: number): ScannedValue {
  if (text[start] === '"') {
    const { value, end } = scanQuoted(text, start);
    return { text: value, raw: value, quoted: true, end };
  }
  if (text[start] === "'") {
    const { value, end } = scanString(text, start);
    return { text: value, raw: value, quoted: true, end };
  }
  const raw = at(VALUE_WORD, text, start);
  if (raw === null) {
    throw new SelectorError(start, 'a value is missing', 'Write role:web, name:"a b" or cpus:[8 TO 16].');
  }
  return { text: unescaped(raw), raw, quoted: false, end: start + raw.length };
}

const QUOTED = /"((?:[^"\\]|\\.)*)"/suy;

function scanQuoted(text: string, start: number): { value: string; end: number } {
  const quoted = at(QUOTED, text, start);
  if (quoted === null) {
    throw new SelectorError(start, 'the string is not closed', 'End it with "; write \\" for a quote inside.');
  }
  return { value: unescaped(quoted.slice(1, -1)), end: start + quoted.length };
}

function unescaped(raw: string): string {
  return raw.replace(/\\(.)/gsu, '$1');
}

function fromWord(attribute: string, raw: string, position: number): Match | Glob {
  if (!/[*?]/.test(raw.replace(/\\./gsu, ''))) return match(attribute, unescaped(raw));
  if (raw.length > LIMITS.patternLength) {
    throw new SelectorError(position, `the pattern is longer than ${LIMITS.patternLength}`, 'Shorten it.');
  }
  return freeze({ kind: 'glob', attribute, pattern: raw });
}

export function match(attribute: string, text: string): Match {
  return freeze({ kind: 'match', attribute, text });
}

function range(attribute: string, low: Bound | null, high: Bound | null): Range {
  return freeze({ kind: 'range', attribute, low, high });
}

function freeze<T>(node: T): Readonly<T> {
  return Object.freeze(node);
}
