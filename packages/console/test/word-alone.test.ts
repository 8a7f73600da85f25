import { expect, it } from 'vitest';
import { filtersOfWord } from '../src/tasks/word-alone.js';

const TASKS = [{ params: { file: 'a.png', width: 100 } }, { params: { file: 'b.png', 'to-day': true } }];

it.each([
  ['13.png', ['params.file:"13.png"', 'params.width:"13.png"', 'params.to-day:"13.png"']],
  ['odd*', ['params.file:odd*', 'params.width:odd*', 'params.to-day:odd*']],
  ['params.file = 3', []],
  ['queue:resize', []],
  ['13.png AND', []],
  ['', []],
])('offers for %j, where tasks have them, %j', (q, filters) => {
  expect(filtersOfWord(q, TASKS)).toEqual(filters);
});

it('offers nothing where no task was shown', () => {
  expect(filtersOfWord('13.png', [])).toEqual([]);
});
