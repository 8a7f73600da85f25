import { expect, test } from 'vitest';
import { csvLine } from '../src/csv.js';

test('text that a spreadsheet would take for a formula has an apostrophe before it, and numbers are numbers', () => {
  const told = ['=1+1', '+1', '-1', '@A1', '\t=1', '\r=1', '\n=1', '=HYPERLINK("http://x","y")', 'a=1', -1, true];
  expect(csvLine(told)).toBe(
    `'=1+1,'+1,'-1,'@A1,'\t=1,"'\r=1","'\n=1","'=HYPERLINK(""http://x"",""y"")",a=1,-1,true\r\n`,
  );
});
