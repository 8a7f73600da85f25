import { describe, expect, it } from 'vitest';
import { completions } from '../src/parts/completions.js';
import { byReason } from '../src/push/by-reason.js';
import { whoCan } from '../src/push/who-can.js';

describe('what a preview says', () => {
  it.each([
    [2, 2, '2 can'],
    [0, 0, 'none can'],
    [0, 4, 'none can for sure, 4 perhaps'],
    [3, 5, '3 can, 2 more perhaps'],
  ])('of %i to %i nodes: %s', (least, most, text) => {
    expect(whoCan({ least, most })).toBe(text);
  });

  it('puts nodes together of which the same is told, the most first', () => {
    const told = [
      { node_name: 'db1', reason: 'old' },
      { node_name: 'web1', reason: 'new' },
      { node_name: 'web2', reason: 'new' },
    ];
    expect(byReason(told)).toEqual([
      { reason: 'new', names: ['web1', 'web2'] },
      { reason: 'old', names: ['db1'] },
    ]);
  });
});

describe('what is offered while a selector is typed', () => {
  const values: Readonly<Record<string, readonly string[]>> = { role: ['web', 'db', 'two words', 'a"b'] };
  const offered = (text: string) =>
    completions(text, { words: ['role', 'rack', 'env'], valuesOf: (name) => values[name] ?? [] });

  it.each([
    ['env:prod AND r', ['env:prod AND role', 'env:prod AND rack']],
    ['role', []],
    ['', []],
    ['role:', ['role:web', 'role:db', 'role:"two words"']],
    ['NOT role:d', ['NOT role:db']],
    ['role:db', []],
    ['other:r', []],
  ])('after %j', (text, expected) => {
    expect(offered(text)).toEqual(expected);
  });

  it('without values, what follows a colon is a word as any other', () => {
    expect(completions('x:ro', { words: ['role'] })).toEqual(['x:role']);
  });
});
