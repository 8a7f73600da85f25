import fc from 'fast-check';
import { expect, it } from 'vitest';
import { addCommand, paramsOfLines } from '../src/tasks/new-task-lines.js';

it('a value that is JSON is that, everything else is text, and lines without anything are passed over', () => {
  expect(paramsOfLines('file = a.png\n\n width=200\nodd="200"\nequation=a=b\nempty=')).toEqual({
    params: { file: 'a.png', width: 200, odd: '200', equation: 'a=b', empty: '' },
  });
  expect(paramsOfLines('  \n')).toEqual({ params: {} });
});

it('what cannot be read is said with its line', () => {
  expect(paramsOfLines('file=a.png\nwidth')).toEqual({ wrong: 'Line 2 must be name=value.' });
  expect(paramsOfLines('=a')).toEqual({ wrong: 'Line 1 must be name=value.' });
  expect(paramsOfLines('a=1\na=2')).toEqual({ wrong: 'Line 2 gives a a second time.' });
});

it('the command takes each line as it is', () => {
  expect(addCommand('resize', 'file=a b.png\nwidth=200')).toBe(
    "muster task add resize --param 'file=a b.png' --param width=200",
  );
});

it('every JSON value is what it was', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(paramsOfLines(`it=${JSON.stringify(value)}`)).toEqual({
        params: { it: JSON.parse(JSON.stringify(value)) },
      });
    }),
  );
});
