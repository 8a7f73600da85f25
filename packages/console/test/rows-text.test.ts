import { expect, test } from 'vitest';
import { csvOf, linesOf } from '../src/parts/rows-text.js';

const ROWS = [
  { name: 'web1', labels: { role: 'web' }, since: 5, job: null },
  { name: '=HYPERLINK("http://evil")', text: 'a,b\nc' },
  { text: '\n=1' },
];

test('rows are saved as a JSON document a line', () => {
  expect(
    linesOf(ROWS)
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ).toEqual(ROWS);
});

test('rows are saved as CSV, in which nothing is a formula', () => {
  expect(csvOf(ROWS)).toBe(
    [
      'name,labels,since,job,text',
      'web1,"{""role"":""web""}",5,,',
      `"'=HYPERLINK(""http://evil"")",,,,"a,b\nc"`,
      `,,,,"'\n=1"`,
      '',
    ].join('\r\n'),
  );
});
