import { describe, expect, it } from 'vitest';
import { piecesOf, secondOfDay, timeOfDay, timeText } from '../src/parts/when.js';

const AT = new Date(2026, 10, 8, 7, 5, 9).getTime();

describe('a time', () => {
  it('is shown alike everywhere', () => {
    expect(timeText(AT)).toBe('2026-11-08 07:05:09');
    expect(secondOfDay(AT)).toBe('07:05:09');
    expect(timeOfDay(AT)).toBe('07:05');
    expect(timeText(Number.NaN)).toBe('–');
  });

  it('is found in what the server says, with its age', () => {
    const at = Date.parse('2026-11-28T19:59:18Z');
    expect(piecesOf('It runs since 2026-11-28T19:59:18Z (0 s), until 2026-11-28T19:59:18Z.')).toEqual([
      'It runs since ',
      { at, aged: true },
      ', until ',
      { at, aged: false },
      '.',
    ]);
    expect(piecesOf('in rehab since 2026-11-28T19:59:18Z (3 min): why')).toEqual([
      'in rehab since ',
      { at, aged: true },
      ': why',
    ]);
    expect(piecesOf('2026-99-99T99:99:99Z')).toEqual(['2026-99-99T99:99:99Z']);
    expect(piecesOf('nothing of it')).toEqual(['nothing of it']);
    expect(piecesOf('')).toEqual([]);
  });
});
