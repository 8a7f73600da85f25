import { type Expression, parseSelector, print, SELECTOR_LIMITS, SelectorError } from '@muster/selector';
import { describe, expect, it } from 'vitest';

const sql = (text: string): Expression => parseSelector(text, { sugar: false });
const sugar = (text: string): Expression => parseSelector(text, { sugar: true });

/** How the tree prints: with parentheses that show what binds to what. */
const shape = (text: string): string => print(sql(text));

function errorOf(work: () => unknown): SelectorError {
  try {
    work();
  } catch (error) {
    if (error instanceof SelectorError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

describe('precedence', () => {
  it.each([
    ['a = 1 OR b = 2 AND c = 3', 'a = 1 OR (b = 2 AND c = 3)'],
    ['(a = 1 OR b = 2) AND c = 3', '(a = 1 OR b = 2) AND c = 3'],
    ['NOT a = 1 AND b = 2', '(NOT a = 1) AND b = 2'],
    ['NOT NOT a', 'NOT (NOT a)'],
    ['a = 1 AND b = 2 AND c = 3', 'a = 1 AND b = 2 AND c = 3'],
    ['a + b * c = 1', '(a + (b * c)) = 1'],
    ['a + b % c * d = 1', '(a + ((b % c) * d)) = 1'],
    ['a - b - c = 1', '((a - b) - c) = 1'],
    ['-a * b = 1', '(-(a) * b) = 1'],
    ['(a + b) * c = 1', '((a + b) * c) = 1'],
    ['((a)) = ((1))', 'a = 1'],
    ['a BETWEEN 1 + 1 AND 3 AND b', 'a BETWEEN (1 + 1) AND 3 AND b'],
    ['a NOT BETWEEN 1 AND 2 OR b', 'a NOT BETWEEN 1 AND 2 OR b'],
  ])('%s is %s', (text, printed) => {
    expect(shape(text)).toBe(printed);
  });
});

describe('literals and identifiers', () => {
  it.each([
    ["'it''s'", "it's"],
    ["''", ''],
    ["''''", "'"],
    ['57', 57],
    ['-957', -957],
    ['+62', 62],
    ['7E3', 7000],
    ['-57.9E2', -5790],
    ['7.', 7],
    ['-95.7', -95.7],
    ['.5', 0.5],
    ['1e-3', 0.001],
    ['-0', 0],
    ['0x1F', 31],
    ['0Xff', 255],
    ['-0x10L', -16],
    ['017', 15],
    ['-017', -15],
    ['00', 0],
    ['0', 0],
    ['57L', 57],
    ['57l', 57],
    ['09.5', 9.5],
    ['0e1', 0],
    ['TRUE', true],
    ['false', false],
  ])('%s', (text, value) => {
    expect(sql(`a = ${text}`)).toMatchObject({ right: { kind: 'literal', value } });
  });

  it.each(['a', '_a', '$a', 'a.b.c', 'A1', 'a$b'])('%s is an identifier', (name) => {
    expect(sql(`${name} = 1`)).toMatchObject({ left: { kind: 'attribute', name } });
  });

  it.each([
    ['"my-attr"', 'my-attr'],
    ['"a ""b"" c"', 'a "b" c'],
    ['"and"', 'and'],
    ['"1st"', '1st'],
    ['"role"', 'role'],
    ['"h\u00e9:\u{1f600}"', 'h\u00e9:\u{1f600}'],
    [`"it's"`, "it's"],
  ])('%s is an identifier in double quotes', (text, name) => {
    const attribute = { kind: 'attribute', name };
    for (const parse of [sql, sugar]) {
      expect(parse(`${text} = 'x'`)).toMatchObject({ left: attribute });
      expect(parse(`a = 1 AND (${text} + 1) > 2`)).toMatchObject({ operands: [{}, { left: { left: attribute } }] });
      expect(parse(`1 = ${text}`)).toMatchObject({ right: attribute });
      expect(parse(`b = (${text})`)).toMatchObject({ right: attribute });
    }
    expect(sql(`NOT ${text}`)).toEqual({ kind: 'not', operand: attribute });
  });

  it('a name that needs no quotes is printed without', () => {
    expect(shape('"role" = 1 AND "Not" = 1 AND "a.b" IS NULL')).toBe('role = 1 AND "Not" = 1 AND a.b IS NULL');
  });

  it('keywords are read in any case, identifiers keep theirs', () => {
    expect(sql("A is Not nUll aNd b Like 'x'")).toEqual(sql("A IS NOT NULL AND b LIKE 'x'"));
    expect(sql('Role = 1')).not.toEqual(sql('role = 1'));
  });

  it('space of any kind may stand anywhere, or be left out', () => {
    expect(sql("a=1\tAND\n(b<>'x')")).toEqual(sql(" a = 1 AND ( b <> 'x' ) "));
  });

  it('comments may stand wherever space may', () => {
    const plain = sql("a = 1 AND b <> '--x /* y */'");
    expect(sql("-- first\na/**/=1 AND/* b = 2 */b <> '--x /* y */' -- last")).toEqual(plain);
    expect(sugar('role:web -- the web\n AND web1 /* AND */ -- one')).toEqual(sugar('role:web AND web1'));
    expect(sugar('(web1 /* ) */ )')).toEqual(sugar('web1'));
  });
});

it.each(['', ' ', '\n\t', '-- nothing', '/* nothing */ '])('%j is everything', (text) => {
  expect(sql(text)).toEqual({ kind: 'everything' });
  expect(sugar(text)).toEqual({ kind: 'everything' });
});

it('the tree is frozen', () => {
  const frozen = (node: unknown): boolean =>
    typeof node !== 'object' || node === null || (Object.isFrozen(node) && Object.values(node).every(frozen));
  expect(frozen(sql("NOT (a + -b > 1 AND c LIKE 'x' OR d IN (1, 2) OR TRUE OR e IS NULL OR f BETWEEN 1 AND 2)"))).toBe(
    true,
  );
  expect(frozen(sugar('a:b OR c:d* OR e:[1 TO 2} OR f:>3 OR *:* OR g'))).toBe(true);
});

describe('sugar', () => {
  it.each([
    ['role:web', { kind: 'match', attribute: 'role', text: 'web' }],
    ['my-label:x', { kind: 'match', attribute: 'my-label', text: 'x' }],
    ['name:"a b"', { kind: 'match', attribute: 'name', text: 'a b' }],
    ["name:'it''s'", { kind: 'match', attribute: 'name', text: "it's" }],
    ['name:"a \\" \\\\ *"', { kind: 'match', attribute: 'name', text: 'a " \\ *' }],
    ['mac:aa:bb/1+2=3', { kind: 'match', attribute: 'mac', text: 'aa:bb/1+2=3' }],
    ['name:web*', { kind: 'glob', attribute: 'name', pattern: 'web*' }],
    ['name:w?b', { kind: 'glob', attribute: 'name', pattern: 'w?b' }],
    ['name:a\\*b', { kind: 'match', attribute: 'name', text: 'a*b' }],
    ['name:a\\ b', { kind: 'match', attribute: 'name', text: 'a b' }],
    ['name:*', { kind: 'glob', attribute: 'name', pattern: '*' }],
    ['*:*', { kind: 'everything' }],
    ['web1*', { kind: 'glob', attribute: 'name', pattern: 'web1*' }],
    ['web-1.example.com', { kind: 'match', attribute: 'name', text: 'web-1.example.com' }],
    ['web1', { kind: 'match', attribute: 'name', text: 'web1' }],
    ['1234', { kind: 'match', attribute: 'name', text: '1234' }],
    ['"a b"', { kind: 'match', attribute: 'name', text: 'a b' }],
    ['role:not', { kind: 'match', attribute: 'role', text: 'not' }],
  ])('%s', (text, node) => {
    expect(sugar(text)).toEqual(node);
    expect(sugar(`(${text})`)).toEqual(node);
    expect(sugar(`NOT ${text} AND (${text} OR x = 1)`)).toMatchObject({
      kind: 'and',
      operands: [{ operand: node }, {}],
    });
  });

  const bound = (text: string, inclusive = true) => ({ text, inclusive });

  it.each([
    ['cpus:[8 TO 16]', bound('8'), bound('16')],
    ['cpus:{8 to 16}', bound('8', false), bound('16', false)],
    ['cpus:[8 TO 16}', bound('8'), bound('16', false)],
    ['cpus:[ "a b" TO * ]', bound('a b'), null],
    ['cpus:[* TO -5]', null, bound('-5')],
    ['cpus:>8', bound('8', false), null],
    ['cpus:>=8', bound('8'), null],
    ['cpus:<8', null, bound('8', false)],
    ['cpus:<=8', null, bound('8')],
  ])('%s is a range', (text, low, high) => {
    expect(sugar(text)).toEqual({ kind: 'range', attribute: 'cpus', low, high });
  });

  it.each([
    'a-b > 3',
    '(a-b) > 3',
    '((a-b)*2) > 3',
    '(a*b) IS NULL',
    '3 < (a-b)',
    'a*b = 2',
    'web1 IS NOT NULL',
    "web1 LIKE 'x'",
    "x = 1 AND a NOT IN ('b')",
    '5 > 3',
    '"my-attr" = 1',
    '("a-b") IS NOT NULL',
    '("a-b" - 1) = 2',
    '"a-b" LIKE \'x"y\'',
    'x BETWEEN a-b AND (a-c)',
  ])('%s stays SQL', (text) => {
    expect(sugar(text)).toEqual(sql(text));
  });

  it('mixes with SQL', () => {
    expect(print(sugar("role:web AND (cpus >= 8 OR NOT env = 'prod') AND web*"))).toBe(
      'role:"web" AND (cpus >= 8 OR (NOT env = \'prod\')) AND name:web*',
    );
  });

  it('is not understood unless asked for', () => {
    expect(errorOf(() => sql('role:web')).position).toBe(4);
    expect(sql('web1')).toEqual({ kind: 'attribute', name: 'web1' });
  });
});

describe('errors say where and what to do', () => {
  it.each<[string, number, RegExp, RegExp]>([
    ["role == 'web'", 5, /unexpected '=='/, /Write '=' to compare/],
    ["role != 'web'", 5, /unexpected '!='/, /'<>'/],
    ['a = 1 && b = 2', 6, /unexpected '&&'/, /'AND'/],
    ['a = 1 || b = 2', 6, /unexpected '\|\|'/, /'OR'/],
    ['role = "web"', 7, /text stands in single quotes/, /'web', or "web" in parentheses/],
    ['role <> "it\'s"', 8, /text stands in single quotes/, /'it''s'/],
    ['role LIKE "web%"', 10, /expected a string/, /single quotes/],
    ['role IN ("web")', 9, /expected a value/, /'web'/],
    ['"my-attr = 1', 0, /the name is not closed/, /End it with "; write ""/],
    ['a = 1 AND "" = 1', 10, /the name is empty/, /"my-attr"/],
    ['"a\\b" = 1', 0, /the name has a backslash/, /cannot be selected by/],
    ["role = 'web", 7, /not closed/, /End it with '/],
    ["role = 'web''", 7, /not closed/, /''/],
    ['a = 1 b = 2', 6, /unexpected 'b'/, /AND or OR missing before 'b'/],
    ['a = 1 NOT b = 2', 6, /unexpected 'NOT'/, /AND or OR missing before 'NOT'/],
    ['a NOT b = 2', 6, /expected LIKE, IN or BETWEEN/, /AND or OR missing before NOT/],
    ['a = 1)', 5, /unexpected '\)'/, /no parenthesis open/],
    ['(a = 1', 6, /expected '\)' but found the end/, /Close/],
    ['a =', 3, /found the end/, /role = 'web'/],
    ['= 1', 0, /found '='/, /role = 'web'/],
    ['a = 1 AND', 9, /found the end/, /role/],
    ['a = 089', 4, /starts with 0 is octal/, /Leave the 0 out/],
    ['a = 0x', 4, /runs into a word/, /single quotes/],
    ['a = 0xfg', 4, /runs into a word/, /single quotes/],
    ['a = 1.5L', 4, /runs into a word/, /single quotes/],
    ['a = 1 /* b', 6, /comment is not closed/, /\*\//],
    ['a = NULL', 4, /NULL is not a value/, /IS NULL/],
    ['a IS 1', 5, /expected 'NULL'/, /IS NOT NULL/],
    ['a LIKE b', 7, /expected a string/, /LIKE 'web%'/],
    ["a LIKE 'x' ESCAPE 'ab'", 18, /exactly one character/, /ESCAPE/],
    ["a LIKE 'x!' ESCAPE '!'", 7, /nothing follows/, /twice/],
    ['a IN ()', 6, /expected a value/, /IN \('web', 'db'\)/],
    ["a IN ('x' 'y')", 10, /expected '\)'/, /IN/],
    ['a IN (b)', 6, /expected a value/, /IN/],
    ['a BETWEEN 1 OR 2', 12, /expected 'AND'/, /BETWEEN 8 AND 16/],
    ['a + 1', 0, /a value is not a condition/, /Compare/],
    ["'x'", 0, /a value is not a condition/, /Compare/],
    ['(a = 1) = TRUE', 0, /a condition is not a value/, /AND, OR and NOT/],
    ['1 + (a = 1) > 2', 4, /a condition is not a value/, /AND/],
    ["name > 'm'", 0, /'>' compares numbers only/, /LIKE/],
    ["a + 'x' = 1", 4, /arithmetic takes numbers/, /quotes/],
    ['mem > 8gb', 6, /runs into a word/, /no unit/],
    ['a = 1e999', 4, /too large/, /smaller/],
    ['a = 1; b', 5, /unexpected ';'/, /Remove/],
    ['a = \u{1f600}', 4, /unexpected '\u{1f600}'/u, /single quotes/],
  ])('%s', (text, position, reason, hint) => {
    const error = errorOf(() => sql(text));
    expect(error.position).toBe(position);
    expect(error.reason).toMatch(reason);
    expect(error.hint).toMatch(hint);
  });

  it.each<[string, number, RegExp]>([
    ['role:web os:linux', 9, /unexpected 'os'/],
    ['role:', 5, /a value is missing/],
    ['role: web', 5, /a value is missing/],
    ['role:(a b)', 5, /a value is missing/],
    ['name:"a', 5, /not closed/],
    ['cpus:[8]', 7, /expected 'TO'/],
    ['cpus:[8 TO 16', 13, /expected ']'/],
    ['cpus:>', 6, /a value is missing/],
    ['-role:web', 5, /unexpected ':'/],
    ['role:web = 1', 0, /a condition is not a value/],
    ['x = role:web', 8, /unexpected ':'/],
  ])('in sugar: %s', (text, position, reason) => {
    const error = errorOf(() => sugar(text));
    expect(error.position).toBe(position);
    expect(error.reason).toMatch(reason);
  });
});

describe('limits', () => {
  const refusedBy = (text: string): string => errorOf(() => sql(text)).reason;

  it('16 KiB of text, not a character more', () => {
    const text = `a = '${'x'.repeat(SELECTOR_LIMITS.textLength - 6)}'`;
    expect(text.length).toBe(SELECTOR_LIMITS.textLength);
    expect(sql(text)).toMatchObject({ kind: 'comparison' });
    expect(refusedBy(`${text} `)).toMatch(/longer than 16384/);
  });

  it.each([
    ['parentheses', '(', ')'],
    ['NOT', 'NOT ', ''],
  ])('64 levels of %s, not one more', (_, open, close) => {
    const nested = (levels: number): string => `${open.repeat(levels)}a = 1${close.repeat(levels)}`;
    expect(sql(nested(64))).toBeDefined();
    expect(refusedBy(nested(65))).toMatch(/nested deeper than 64/);
  });

  it('64 signs, not one more', () => {
    expect(sql(`${'- '.repeat(64)}a = 1`)).toBeDefined();
    expect(refusedBy(`${'- '.repeat(65)}a = 1`)).toMatch(/nested deeper/);
  });

  it('1000 values in IN, not one more', () => {
    const list = (n: number): string => `a IN (${Array.from({ length: n }, (_, i) => i).join(',')})`;
    expect(sql(list(1000))).toMatchObject({ kind: 'in' });
    expect(refusedBy(list(1001))).toMatch(/more than 1000 values/);
  });

  it('1000 arithmetic operators, not one more', () => {
    const sum = (n: number): string => `a${'+1'.repeat(n)} = 1`;
    expect(sql(sum(1000))).toBeDefined();
    expect(refusedBy(sum(1001))).toMatch(/more than 1000 operators/);
  });

  it('1024 characters of pattern, not one more', () => {
    expect(sql(`a LIKE '${'x'.repeat(1024)}'`)).toBeDefined();
    expect(refusedBy(`a LIKE '${'x'.repeat(1025)}'`)).toMatch(/longer than 1024/);
    expect(sugar(`a:${'x'.repeat(1023)}*`)).toBeDefined();
    expect(errorOf(() => sugar(`a:${'x'.repeat(1024)}*`)).reason).toMatch(/longer than 1024/);
  });

  it('as many terms as fit the text', () => {
    expect(sql(`a=1${' OR a=1'.repeat(2000)}`)).toMatchObject({ operands: { length: 2001 } });
  });
});
