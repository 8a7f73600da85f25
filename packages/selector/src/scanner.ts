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

export type Operator = '=' | '<>' | '<' | '<=' | '>' | '>=' | '+' | '-' | '*' | '/' | '%' | '(' | ')' | ',';

interface Span {
  readonly start: number;
  readonly end: number;
}

export type Token = Span &
  (
    | { readonly kind: 'identifier'; readonly name: string; readonly quoted: boolean }
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
const NUMBER = /0[xX][\da-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y;

export function at(pattern: RegExp, text: string, position: number): string | null {
  const end = endOf(pattern, text, position);
  return end < 0 ? null : text.slice(position, end);
}

/** The index after what matches at the position, or -1. */
function endOf(pattern: RegExp, text: string, position: number): number {
  pattern.lastIndex = position;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const BLANK = 32;
const MINUS = 45;
const SLASH = 47;
const STAR = 42;

export function skipSpace(text: string, position: number): number {
  const code = text.charCodeAt(position);
  // One blank is by far the most frequent; anything but a space of any kind ends it.
  if (code > BLANK && code < 128) return position;
  if (code === BLANK && text.charCodeAt(position + 1) > BLANK && text.charCodeAt(position + 1) < 128) {
    return position + 1;
  }
  return endOf(SPACE, text, position);
}

/** Space, `-- comments` to the end of the line and comments between slash and star. */
export function skipSpaceAndComments(text: string, position: number): number {
  for (let from = position; ; ) {
    const start = skipSpace(text, from);
    const [first, second] = [text.charCodeAt(start), text.charCodeAt(start + 1)];
    if (first === MINUS && second === MINUS) {
      const end = text.indexOf('\n', start);
      from = end < 0 ? text.length : end;
    } else if (first === SLASH && second === STAR) {
      const end = text.indexOf('*/', start + 2);
      if (end < 0) throw new SelectorError(start, 'the comment is not closed', 'End it with */.');
      from = end + 2;
    } else return start;
  }
}

/** The token at or after `position`. @throws SelectorError for what no token starts with. */
export function scan(text: string, position: number): Token {
  const start = skipSpaceAndComments(text, position);
  const first = text.charCodeAt(start);
  if (start >= text.length) return { kind: 'end', start: text.length, end: text.length };
  if (first === QUOTE) return scanString(text, start);
  if (first === DOUBLE_QUOTE) return scanQuotedName(text, start);
  if (isLetter(first)) return scanWord(text, start);
  const number = isDigit(first) || first === POINT ? endOf(NUMBER, text, start) : -1;
  if (number >= 0) return scanNumber(text, start, number);
  const operator = operatorAt(text, start);
  if (operator === null) throw unexpected(text, start);
  if (operator === '=' && text[start + 1] === '=') {
    throw new SelectorError(start, "unexpected '=='", "Write '=' to compare.");
  }
  return { kind: 'operator', operator, start, end: start + operator.length };
}

const QUOTE = 39;
const DOUBLE_QUOTE = 34;
const POINT = 46;

/** A letter, `_` or `$`. */
function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code === 36;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

function isWord(code: number): boolean {
  return isLetter(code) || isDigit(code);
}

function operatorAt(text: string, position: number): Operator | null {
  const first = text.charAt(position);
  const next = text.charAt(position + 1);
  switch (first) {
    case '<':
      return next === '=' ? '<=' : next === '>' ? '<>' : '<';
    case '>':
      return next === '=' ? '>=' : '>';
    case '=':
    case '+':
    case '-':
    case '*':
    case '/':
    case '%':
    case '(':
    case ')':
    case ',':
      return first;
    default:
      return null;
  }
}

const LONGEST_KEYWORD = 7;

function scanWord(text: string, start: number): Token {
  const end = endOf(IDENTIFIER, text, start);
  const word = text.slice(start, end);
  const keyword = word.length <= LONGEST_KEYWORD ? word.toUpperCase() : word;
  return KEYWORDS.has(keyword)
    ? { kind: 'keyword', keyword: keyword as Keyword, start, end }
    : { kind: 'identifier', name: word, quoted: false, start, end };
}

/** Whether a name is an identifier as it stands, without quotes. */
export function isPlainName(name: string): boolean {
  return endOf(IDENTIFIER, name, 0) === name.length && !isKeyword(name);
}

/** A delimited identifier of SQL-92: it names what an identifier cannot, as `"my-attr"`. */
function scanQuotedName(text: string, start: number): Token {
  const { value: name, end } = scanQuotedBy('"', text, start, 'name');
  if (name === '') throw new SelectorError(start, 'the name is empty', 'Write the name of an attribute: "my-attr".');
  // In search terms it escapes, in SQL it does not: where both are understood, the same text would end in two places.
  if (name.includes('\\')) {
    throw new SelectorError(start, 'the name has a backslash', 'Attributes with one cannot be selected by.');
  }
  return { kind: 'identifier', name, quoted: true, start, end };
}

export function scanString(text: string, start: number): Token & { kind: 'string' } {
  return { kind: 'string', ...scanQuotedBy("'", text, start, 'string'), start };
}

/** From one quote to the next; two quotes are one inside. */
function scanQuotedBy(quote: string, text: string, start: number, what: string): { value: string; end: number } {
  let value = '';
  let from = start + 1;
  for (;;) {
    const found = text.indexOf(quote, from);
    if (found < 0) {
      const hint = `End it with ${quote}; write ${quote}${quote} for a quote inside.`;
      throw new SelectorError(start, `the ${what} is not closed`, hint);
    }
    value += text.slice(from, found);
    if (text[found + 1] !== quote) return { value, end: found + 1 };
    value += quote;
    from = found + 2;
  }
}

/** Decimal, or as in Java hexadecimal (`0x1F`) and octal (`017`); whole numbers may end in L. */
function scanNumber(text: string, start: number, digitsEnd: number): Token {
  const digits = text.slice(start, digitsEnd);
  const hexadecimal = /^0[xX]/.test(digits);
  const whole = hexadecimal || !/[.eE]/.test(digits);
  const end = whole && /[lL]/.test(text.charAt(digitsEnd)) ? digitsEnd + 1 : digitsEnd;
  if (isWord(text.charCodeAt(end))) {
    throw new SelectorError(start, 'a number runs into a word', 'Put text in single quotes; numbers have no unit.');
  }
  const octal = whole && !hexadecimal && digits.length > 1 && digits.startsWith('0');
  if (octal && /[89]/.test(digits)) {
    throw new SelectorError(start, 'a number that starts with 0 is octal', 'Leave the 0 out, or put text in quotes.');
  }
  const value = Number(octal ? `0o${digits}` : digits);
  if (!Number.isFinite(value)) {
    throw new SelectorError(start, 'the number is too large', 'Write a smaller number.');
  }
  return { kind: 'number', value, start, end };
}

const HINTS: readonly (readonly [start: string, hint: string])[] = [
  ['!=', "Write '<>' for not equal."],
  ['!', "Write 'NOT'."],
  ['&&', "Write 'AND'."],
  ['||', "Write 'OR'."],
  [':', "Write role = 'web'; a term such as role:web stands only where a condition starts, in node search."],
  ['[', 'Write cpus BETWEEN 8 AND 16, or in node search cpus:[8 TO 16].'],
];

function unexpected(text: string, position: number): SelectorError {
  const found = HINTS.find(([start]) => text.startsWith(start, position));
  const shown = found?.[0] ?? String.fromCodePoint(text.codePointAt(position) ?? 0);
  return new SelectorError(position, `unexpected '${shown}'`, found?.[1] ?? 'Remove it, or put text in single quotes.');
}
