import fc from 'fast-check';
import { expect, test } from 'vitest';
import { countOf, isTrue, type RawRequest, readParameters, splitOptions } from '../../src/disbatch/parameters.js';

const read = (given: Partial<Omit<RawRequest, 'body'>> & { body?: string }) =>
  readParameters({ contentType: given.contentType, query: given.query ?? '', body: Buffer.from(given.body ?? '') });

const FORM = 'application/x-www-form-urlencoded';

test('parameters come from a form, from JSON, or else from the query, and from one place only', () => {
  expect(read({ contentType: FORM, body: 'name=a&plugin=b', query: 'name=c' })).toEqual({ name: 'a', plugin: 'b' });
  expect(read({ contentType: 'application/json', body: '{"name":"a"}', query: 'name=c' })).toEqual({ name: 'a' });
  expect(read({ body: '{"name":"a"}', query: 'name=c' })).toEqual({ name: 'c' });
  expect(read({ contentType: 'text/plain', body: '{"name":"a"}', query: 'name=c' })).toEqual({ name: 'c' });
});

test('JSON with a charset is JSON', () => {
  expect(read({ contentType: 'application/json; charset=utf-8', body: '{"a":1}' })).toEqual({ a: 1 });
});

test('an empty body with the type of a form says nothing', () => {
  expect(read({ contentType: FORM, query: 'a=1' })).toEqual({});
  expect(read({ contentType: 'application/json', query: 'a=1' })).toEqual({});
});

test('pairs are separated by either sign, repeated names are lists, and + is a space', () => {
  expect(read({ query: 'a=1&b=x+y;a=2;c;d=%C3%A4&a=3' })).toEqual({ a: ['1', '2', '3'], b: 'x y', c: '', d: 'ä' });
});

test('names with a dot are options', () => {
  expect(splitOptions({ '.limit': 1, queue: 'x' })).toEqual({ params: { queue: 'x' }, options: { '.limit': 1 } });
});

test('any text but the empty one and 0 is true, also false', () => {
  expect(['1', 'false', 'x', 1, true].map(isTrue)).toEqual([true, true, true, true, true]);
  expect(['', '0', 0, false, null, undefined].map(isTrue)).toEqual([false, false, false, false, false, false]);
});

test('digits are counts, as forms send them', () => {
  expect(['5', 5, '0', 0].map(countOf)).toEqual([5, 5, 0, 0]);
  expect(['', '-1', -1, 1.5, 'zero', null, true, '1e3', []].map(countOf)).toEqual(Array(9).fill(undefined));
});

test.each([
  [{ contentType: 'application/json', body: '{' }, /malformed JSON/],
  [{ contentType: 'application/json', body: '{"a":{"__proto__":1}}' }, /__proto__/],
  [{ query: '__proto__=1' }, /__proto__/],
  [{ query: 'a=%E0%A4%A' }, /percent-encoding/],
  [{ query: 'a=1&'.repeat(1001) }, /too many parameters/],
])('%j is refused', (given, why) => {
  expect(() => read(given)).toThrow(why);
});

test('whatever a form says, it is read or refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (query) => {
      try {
        return typeof read({ query }) === 'object';
      } catch (error) {
        return error instanceof Error && 'body' in error;
      }
    }),
  );
});
