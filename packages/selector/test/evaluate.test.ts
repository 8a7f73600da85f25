import { type Attributes, compile, parseSelector } from '@muster/selector';
import { describe, expect, it } from 'vitest';

const node: Attributes = {
  name: 'web1.example.com',
  role: 'web',
  cpus: 8,
  load: 0.5,
  up: true,
  drained: false,
  version: '8',
  nothing: null,
  missing: undefined,
  emoji: 'a\u{1f600}b',
  lines: 'a\nb',
};

const sql = (text: string): boolean => compile(parseSelector(text, { sugar: false }))(node);
const sugar = (text: string): boolean => compile(parseSelector(text, { sugar: true }))(node);

/** TRUE, FALSE or UNKNOWN: what is neither true nor, negated, true is unknown. */
function truth(text: string): 'T' | 'F' | 'U' {
  if (sql(text)) return 'T';
  return sql(`NOT (${text})`) ? 'F' : 'U';
}

const OPERAND = { T: 'cpus = 8', F: 'cpus = 9', U: 'nothing = 1' };

describe('truth tables', () => {
  it.each(['TT T', 'TF F', 'TU U', 'FT F', 'FF F', 'FU F', 'UT U', 'UF F', 'UU U'])('AND %s', (row) => {
    const [a, b, , result] = row as unknown as ('T' | 'F' | 'U')[];
    expect(truth(`${OPERAND[a ?? 'U']} AND ${OPERAND[b ?? 'U']}`)).toBe(result);
  });

  it.each(['TT T', 'TF T', 'TU T', 'FT T', 'FF F', 'FU U', 'UT T', 'UF U', 'UU U'])('OR %s', (row) => {
    const [a, b, , result] = row as unknown as ('T' | 'F' | 'U')[];
    expect(truth(`${OPERAND[a ?? 'U']} OR ${OPERAND[b ?? 'U']}`)).toBe(result);
  });

  it.each([
    ['T', 'F'],
    ['F', 'T'],
    ['U', 'U'],
  ] as const)('NOT %s %s', (a, result) => {
    expect(truth(`NOT ${OPERAND[a]}`)).toBe(result);
  });
});

describe('SQL', () => {
  it.each([
    ["role = 'web'", 'T'],
    ["role <> 'web'", 'F'],
    ["role = 'Web'", 'F'],
    ['cpus = 8.0', 'T'],
    ['cpus <> 8', 'F'],
    ['cpus > 7.5', 'T'],
    ['cpus >= 8', 'T'],
    ['cpus < 8', 'F'],
    ['cpus <= 8', 'T'],
    ['8 = cpus', 'T'],
    ['cpus = load', 'F'],
    ['cpus * load = 4', 'T'],
    ['cpus / 3 > 2.6', 'T'],
    ['cpus - 2 * 3 = 2', 'T'],
    ['cpus % 3 = 2', 'T'],
    ['-cpus % 3 = -2', 'T'],
    ['cpus % 0 = 0', 'U'],
    ['-cpus = -8', 'T'],
    ['- -cpus = 8', 'T'],
    ['up', 'T'],
    ['drained', 'F'],
    ['up = TRUE', 'T'],
    ['TRUE', 'T'],
    ['FALSE', 'F'],
    // NULL makes unknown, wherever it stands.
    ['nothing = 1', 'U'],
    ['missing = 1', 'U'],
    ['absent <> 1', 'U'],
    ['nothing + 1 = 1', 'U'],
    ['-nothing = 1', 'U'],
    ['absent', 'U'],
    ["nothing LIKE '%'", 'U'],
    ["nothing IN ('a')", 'U'],
    ["nothing NOT IN ('a')", 'U'],
    ['nothing BETWEEN 1 AND 2', 'U'],
    ['cpus BETWEEN nothing AND 9', 'U'],
    ['cpus BETWEEN nothing AND 7', 'F'],
    ['cpus NOT BETWEEN nothing AND 7', 'T'],
    ['nothing IS NULL', 'T'],
    ['absent IS NULL', 'T'],
    ['cpus IS NULL', 'F'],
    ['cpus IS NOT NULL', 'T'],
    ['cpus + nothing IS NULL', 'T'],
    // Unlike types are never equal, nor unequal (JMS).
    ["cpus = '8'", 'F'],
    ["cpus <> '8'", 'F'],
    ['role > 1', 'F'],
    ['role < up', 'F'],
    ['role BETWEEN 1 AND 2', 'F'],
    ['role NOT BETWEEN 1 AND 2', 'F'],
    // No value at all.
    ['role + 1 = 1', 'U'],
    ['cpus / 0 = 1', 'U'],
    ['role', 'U'],
    ['cpus BETWEEN 8 AND 8', 'T'],
    ['cpus BETWEEN 9 AND 7', 'F'],
    ['cpus NOT BETWEEN 9 AND 10', 'T'],
    ["role IN ('db', 'web')", 'T'],
    ["role NOT IN ('db', 'web')", 'F'],
    ['cpus IN (4, 8)', 'T'],
    ["cpus IN ('8')", 'F'],
    ['up IN (TRUE)', 'T'],
  ] as const)('%s is %s', (text, expected) => {
    expect(truth(text)).toBe(expected);
  });

  it.each([
    ["name LIKE 'web%'", 'T'],
    ["name LIKE '%.com'", 'T'],
    ["name LIKE '%example%'", 'T'],
    ["name LIKE 'web_.%'", 'T'],
    ["name LIKE 'web'", 'F'],
    ["name LIKE 'WEB%'", 'F'],
    ["role LIKE 'web'", 'T'],
    ["role LIKE '___'", 'T'],
    ["role LIKE '____'", 'F'],
    ["role LIKE '%%_%%'", 'T'],
    ["role LIKE ''", 'F'],
    ["role NOT LIKE 'd%'", 'T'],
    ["'50%' LIKE '50!%' ESCAPE '!'", 'T'],
    ["'500' LIKE '50!%' ESCAPE '!'", 'F'],
    ["'a_b' LIKE 'a\\_b' ESCAPE '\\'", 'T'],
    ["'a!b' LIKE 'a!!b' ESCAPE '!'", 'T'],
    ["'%' LIKE '%%' ESCAPE '%'", 'T'],
    ["'x' LIKE '%%' ESCAPE '%'", 'F'],
    ["emoji LIKE 'a_b'", 'T'],
    ["emoji LIKE 'a__b'", 'F'],
    ["emoji LIKE '%_b'", 'T'],
    ["emoji LIKE 'a%_b'", 'T'],
    ["emoji LIKE 'a_%_b'", 'F'],
    ["lines LIKE 'a_b'", 'T'],
    ["name LIKE '%e%e%e%'", 'T'],
    ["name LIKE '%m%m'", 'T'],
    ["name LIKE '%m%m%m'", 'F'],
    ["name LIKE '.*'", 'F'],
    ["cpus LIKE '8'", 'F'],
  ] as const)('%s is %s', (text, expected) => {
    expect(truth(text)).toBe(expected);
  });

  it('a pattern made to explode ends at once', () => {
    const attributes = { name: 'a'.repeat(4096) };
    const pattern = `${'%a'.repeat(500)}%b`;
    expect(compile(parseSelector(`name LIKE '${pattern}'`, { sugar: false }))(attributes)).toBe(false);
  });

  it('attributes are the object’s own', () => {
    expect(truth('constructor IS NULL')).toBe('T');
    expect(truth('__proto__ IS NULL')).toBe('T');
  });

  it('a selector of a thousand terms and operators is answered', () => {
    expect(sql(`cpus = 9${' OR cpus = 9'.repeat(1200)} OR up`)).toBe(true);
    expect(sql(`cpus${' + 1'.repeat(1000)} = 1008`)).toBe(true);
  });
});

describe('sugar', () => {
  it.each([
    ['*:*', true],
    ['', true],
    ['role:web', true],
    ['role:we', false],
    ['role:Web', false],
    ['NOT role:db', true],
    ['name:web*', true],
    ['name:web?.*', true],
    ['name:web?', false],
    ['web1*', true],
    ['web1.example.com', true],
    ['web1', false],
    ['name:"web1.example.com"', true],
    ['name:"web*"', false],
    ['cpus:8', true],
    ['cpus:8.0', true],
    ['cpus:08', false],
    ['version:8.0', true],
    ['load:5e-1', true],
    ['up:true', true],
    ['up:false', false],
    ['drained:false', true],
    ['cpus:*', true],
    ['absent:*', false],
    ['absent:>1', false],
    // As in Lucene, and unlike SQL: a term about what is absent is false, so its negation is true.
    ['NOT absent:*', true],
    ['NOT absent:x', true],
    ['NOT nothing:x', true],
    ["NOT absent = 'x'", false],
    ['absent:x OR role:web', true],
    ['cpus:[8 TO 16]', true],
    ['cpus:{8 TO 16]', false],
    ['cpus:[4 TO 8]', true],
    ['cpus:[4 TO 8}', false],
    ['cpus:[10 TO 16]', false],
    ['cpus:[* TO 16]', true],
    ['cpus:[9 TO *]', false],
    ['cpus:>8', false],
    ['cpus:>=8', true],
    ['cpus:>7.5', true],
    ['cpus:<10', true],
    ['version:<10', true],
    ['role:[db TO wfz]', true],
    ['role:>z', false],
    ['role:web AND cpus >= 8 AND NOT (env:prod OR up:true)', false],
    ['role:web AND cpus >= 8 AND NOT (env:prod OR web2)', true],
  ])('%s: %s', (text, expected) => {
    expect(sugar(text)).toBe(expected);
  });
});

describe('lists', () => {
  const listed: Attributes = { command: ['chef-client', 'restart nginx'] };
  const finds = (text: string): boolean => compile(parseSelector(text, { sugar: true }))(listed);

  it.each([
    ['command:chef-client', true],
    ['command:restart*', true],
    ['command:"restart nginx"', true],
    ["command = 'restart nginx'", true],
    ["'chef-client' = command", true],
    ['command:uptime', false],
    ["command = 'uptime'", false],
    ["NOT command = 'uptime'", true],
  ])('one of their texts is asked for: %s', (text, expected) => {
    expect(finds(text)).toBe(expected);
  });

  it('are NULL to everything else', () => {
    expect(finds('command IS NULL')).toBe(true);
    expect(finds("command LIKE 'chef%'")).toBe(false);
    expect(finds('command < 5')).toBe(false);
  });
});
