import { SelectorError } from './error.js';

export type Keyword = 'AND' | 'OR' | 'NOT' | 'BETWEEN' | 'LIKE' | 'ESCAPE' | 'IN' | 'IS' | 'NULL' | 'TRUE' | 'FALSE';

const KEYWORDS: ReadonlySet<string> = new Set<Keyword>([
  'AND',
  'OR',
  'NOT',
  'BETWEEN',
  'LIKE',
  'ESCAPE',
  'IN',
  'IS',
  'NULL',
  'TRUE',
  'FALSE',
]);

export type Operator = '=' | '<>' | '<' | '<=' | '>' | '>=' | '+' | '-' | '*' | '/' | '(' | ')' | ',';

interface Span {
  readonly start: number;
  readonly end: number;
}

export type Token = Span &
  (
    | { readonly kind: 'identifier'; readonly name: string }
    | { readonly kind: 'keyword'; readonly keyword: Keyword }
    | { readonly kind: 'string'; readonly value: string }
    | { readonly kind: 'number'; readonly value: number }
    | { readonly kind: 'operator'; readonly operator: Operator }
    | { readonly kind: 'end' }
  );

export function isKeyword(word: string): boolean {
  return KEYWORDS.has(word.toUpperCase());
}

// All are sticky: they look at one place only, so scanning is linear.
const SPACE = /\s*/y;
const IDENTIFIER = /[A-Za-z_$][\w$.]*/y;
const NUMBER = /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;
const OPERATOR = /<>|<=|>=|[=<>+\-*/(),]/y;

export function at(pattern: RegExp, text: string, position: number): string | null {
  pattern.lastIndex = position;
  return pattern.exec(text)?.[0] ?? null;
}

export function skipSpace(text: string, position: number): number {
  return position + (at(SPACE, text, position)?.length ?? 0);
}

/** The token at or after `position`. @throws SelectorError for what no token starts with. */
export function scan(text: string, position: number): Token {
  const start = skipSpace(text, position);
  if (start >= text.length) return { kind: 'end', start: text.length, end: text.length };
  if (text[start] === "'") return scanString(text, start);
  const number = at(NUMBER, text, start);
  if (number !== null) return scanNumber(text, start, number);
  const word = at(IDENTIFIER, text, start);
  if (word !== null) {
    const end = start + word.length;
    const upper = word.toUpperCase();
    return KEYWORDS.has(upper)
      ? { kind: 'keyword', keyword: upper as Keyword, start, end }
      : { kind: 'identifier', name: word, start, end };
  }
  const operator = at(OPERATOR, text, start);
  if (operator === null) throw unexpected(text, start);
  if (operator === '=' && text[start + 1] === '=') {
    throw new SelectorError(start, "unexpected '=='", "Write '=' to compare.");
  }
  return { kind: 'operator', operator: operator as Operator, start, end: start + operator.length };
}

/** From one quote to the next; two quotes are one inside. */
export function scanString(text: string, start: number): Token & { kind: 'string' } {
  let value = '';
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf("'", from);
    if (quote < 0) {
      throw new SelectorError(start, 'the string is not closed', "End it with '; write '' for a quote inside.");
    }
    value += text.slice(from, quote);
    if (text[quote + 1] !== "'") return { kind: 'string', value, start, end: quote + 1 };
    value += "'";
    from = quote + 2;
  }
}

function scanNumber(text: string, start: number, digits: string): Token {
  const end = start + digits.length;
  const value = Number(digits);
  if (!Number.isFinite(value)) {
    throw new SelectorError(start, 'the number is too large', 'Write a smaller number.');
  }
  if (/[\w$]/.test(text[end] ?? '')) {
    throw new SelectorError(start, 'a number runs into a word', 'Put text in single quotes; numbers have no unit.');
  }
  return { kind: 'number', value, start, end };
}

const HINTS: readonly (readonly [start: string, hint: string])[] = [
  ['!=', "Write '<>' for not equal."],
  ['!', "Write 'NOT'."],
  ['&&', "Write 'AND'."],
  ['||', "Write 'OR'."],
  ['"', "Put text in single quotes: name = 'web'."],
  [':', "Write role = 'web'; a term such as role:web stands only where a condition starts, in node search."],
  ['%', "'%' belongs in the pattern of LIKE: name LIKE 'web%'."],
  ['[', 'Write cpus BETWEEN 8 AND 16, or in node search cpus:[8 TO 16].'],
];

function unexpected(text: string, position: number): SelectorError {
  const found = HINTS.find(([start]) => text.startsWith(start, position));
  const shown = found?.[0] ?? String.fromCodePoint(text.codePointAt(position) ?? 0);
  return new SelectorError(position, `unexpected '${shown}'`, found?.[1] ?? 'Remove it, or put text in single quotes.');
}
