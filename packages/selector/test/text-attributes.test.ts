import { compileText, parseSelector, textAttribute } from '@muster/selector';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

describe('text that looks like a JSON number is a number', () => {
  it.each([
    ['0', 0],
    ['7', 7],
    ['-0', -0],
    ['81', 81],
    ['81.0', 81],
    ['-1.5e3', -1500],
    ['1E-2', 0.01],
    ['9007199254740993', 9007199254740992],
  ])('%s', (text, number) => {
    expect(textAttribute(text)).toBe(number);
  });

  it.each([
    '',
    ' ',
    'web',
    '-',
    '+1',
    '01',
    '-01',
    '1.',
    '.5',
    '1e',
    '0x10',
    '1 ',
    ' 1',
    '1_000',
    '10.0.0.5',
    '--1',
    'NaN',
    'Infinity',
    'true',
    '1e999',
    '1\n',
  ])('%j stays text', (text) => {
    expect(textAttribute(text)).toBe(text);
  });

  it('whatever JSON reads as a finite number, and nothing else', () => {
    const digits = fc.string({ maxLength: 8, unit: fc.constantFrom(...'0123456789.-+eE') });
    fc.assert(
      fc.property(fc.oneof(digits, fc.double().map(String)), (text) => {
        let parsed: unknown;
        try {
          parsed = JSON.parse(text);
        } catch {
          parsed = text;
        }
        expect(textAttribute(text)).toBe(Number.isFinite(parsed) ? parsed : text);
      }),
      { numRuns: 2000 },
    );
  });
});

const event = new Map(
  Object.entries({
    type: 'temp.high',
    celsius: '81',
    exact: '81.0',
    zero: '0',
    negative: '-0',
    host: '10.0.0.5',
    empty: '',
    flag: 'true',
    huge: '1e999',
  }),
);

function truth(text: string): 'T' | 'F' | 'U' {
  const holds = (of: string) => compileText(parseSelector(of, { sugar: true }))(event);
  if (holds(text)) return 'T';
  return holds(`NOT (${text})`) ? 'F' : 'U';
}

describe('a selector over text attributes', () => {
  it.each([
    // Beside a string it is the text, beside a number the number.
    ["celsius = '81'", 'T'],
    ['celsius = 81', 'T'],
    ['81.0 = celsius', 'T'],
    ["exact = '81'", 'F'],
    ["exact = '81.0'", 'T'],
    ['exact = 81', 'T'],
    ["exact <> '81'", 'T'],
    ['exact <> 81', 'F'],
    ["'81' <> exact", 'T'],
    ['celsius = 80', 'F'],
    ['celsius > 80', 'T'],
    ['celsius BETWEEN 81 AND 82', 'T'],
    ['celsius NOT BETWEEN 81 AND 82', 'F'],
    ['celsius + 1 = 82', 'T'],
    ['-celsius = -81', 'T'],
    ['zero = negative', 'T'],
    ['negative = 0', 'T'],
    // Text that is no number is unlike any number.
    ['type = 81', 'F'],
    ['type <> 81', 'F'],
    ['type > 81', 'F'],
    ['host > 9', 'F'],
    ['huge > 1', 'F'],
    ["huge = '1e999'", 'T'],
    ['type + 1 = 1', 'U'],
    // Two attributes are numbers if both look like numbers, else text.
    ['celsius = exact', 'T'],
    ['celsius <> exact', 'F'],
    ['celsius = type', 'F'],
    ['celsius <> type', 'T'],
    ['type <> host', 'T'],
    ['type = type', 'T'],
    ['celsius <= exact', 'T'],
    ['type < host', 'F'],
    // IN takes each option by itself.
    ["exact IN ('81', 'x')", 'F'],
    ["exact IN ('81', 81)", 'T'],
    ["exact IN ('81.0', 5)", 'T'],
    ['exact NOT IN (80, 81)', 'F'],
    ["type IN ('temp.high')", 'T'],
    ["type NOT IN ('temp.low', 81)", 'T'],
    // LIKE is about the text.
    ["type LIKE 'temp.%'", 'T'],
    ["celsius LIKE '8_'", 'T'],
    ["celsius LIKE '81.0'", 'F'],
    // What is there is not NULL, however empty.
    ["empty = ''", 'T'],
    ['empty IS NOT NULL', 'T'],
    ['absent IS NULL', 'T'],
    ["absent = ''", 'U'],
    ["absent <> 'x'", 'U'],
    ['absent = 1', 'U'],
    ['absent <> type', 'U'],
    ['type <> absent', 'U'],
    ["absent IN ('x', 1)", 'U'],
    // There are no booleans.
    ['flag = TRUE', 'F'],
    ['flag IN (TRUE)', 'F'],
    ["flag = 'true'", 'T'],
    // Search terms.
    ['celsius:81.0', 'T'],
    ['celsius:>80', 'T'],
    ['type:temp.*', 'T'],
    ['flag:true', 'T'],
    ['NOT absent:x', 'T'],
  ] as const)('%s is %s', (text, expected) => {
    expect(truth(text)).toBe(expected);
  });

  it('an attribute alone is unknown, being no boolean', () => {
    for (const text of ['flag', 'NOT flag']) {
      expect(compileText(parseSelector(text, { sugar: false }))(event)).toBe(false);
    }
  });
});
