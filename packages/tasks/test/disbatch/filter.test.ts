import type { Json } from '@muster/wire';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Document } from '../../src/disbatch/filter/condition.js';
import { matches } from '../../src/disbatch/filter/match.js';
import { narrow } from '../../src/disbatch/filter/narrow.js';
import { readFilter } from '../../src/disbatch/filter/read.js';
import { TASK_FIELDS } from '../../src/disbatch/filter/values.js';
import { Refusal } from '../../src/disbatch/refusal.js';

const ID = '571fac85ee63413233049fbd';
const QUEUE = '54a700074b485f0b00000000';
const TASK: Document = {
  _id: ID,
  queue: QUEUE,
  params: { migration: 'oneoff', size: 12, tags: ['a', 'b'], steps: [{ n: 1 }, { n: 5 }], nothing: null },
  status: 1,
  node: 'mig01',
  ctime: 1_461_693_573_000,
  mtime: 1_461_695_860_500,
  stdout: null,
  stderr: 'x',
};

const fits = (filter: Json): boolean => matches(readFilter(filter, TASK_FIELDS), TASK);

test.each<[Json, boolean]>([
  [{}, true],
  [{ 'params.migration': 'oneoff' }, true],
  [{ 'params.migration': 'other' }, false],
  [{ 'params.size': '12' }, false],
  [{ _id: { $oid: ID } }, true],
  [{ _id: { $oid: ID.toUpperCase() } }, true],
  [{ queue: QUEUE }, true],
  [{ status: { $in: [1, 2] } }, true],
  [{ status: { $nin: [1, 2] } }, false],
  [{ status: { $gt: 0, $lt: 2 } }, true],
  [{ status: { $gte: 2 } }, false],
  [{ status: { $lte: 1 } }, true],
  [{ status: { $ne: 1 } }, false],
  [{ status: { $not: { $gt: 1 } } }, true],
  [{ status: { $eq: { $numberInt: '1' } } }, true],
  [{ 'params.size': { $gt: 'a' } }, false],
  [{ 'params.nowhere': null }, true],
  [{ 'params.nothing': null }, true],
  [{ 'params.nowhere': { $exists: false } }, true],
  [{ 'params.nothing': { $exists: true } }, true],
  [{ stdout: null }, true],
  [{ 'params.tags': 'b' }, true],
  [{ 'params.tags': ['a', 'b'] }, true],
  [{ 'params.tags.1': 'b' }, true],
  [{ 'params.tags': { $ne: 'b' } }, false],
  [{ 'params.steps.n': 5 }, true],
  [{ 'params.steps.n': { $gt: 5 } }, false],
  [{ 'params.steps': { n: 1 } }, true],
  [{ $or: [{ status: 2 }, { node: 'mig01' }] }, true],
  [{ $and: [{ status: 1 }, { node: 'mig02' }] }, false],
  [{ $nor: [{ status: 2 }, { node: 'mig02' }] }, true],
  [{ ctime: 1_461_693_573 }, true],
  [{ ctime: 1_461_693_573_000 }, true],
  [{ ctime: { $gte: { $date: '2016-04-26T00:00:00Z' } } }, true],
  [{ mtime: { $lt: { $date: { $numberLong: '1461695860500' } } } }, false],
  [{ mtime: { $gt: '2016-04-26T18:37:40' } }, true],
  [{ 'params.toString': { $exists: true } }, false],
])('%j: %j', (filter, expected) => {
  expect(fits(filter)).toBe(expected);
});

test.each<[Json, RegExp]>([
  [{ status: { $regex: '^a' } }, /unsupported operator \$regex/],
  [{ $where: 'this' }, /unsupported operator \$where/],
  [{ params: { $elemMatch: {} } }, /unsupported operator \$elemMatch/],
  [{ status: { $gt: 1, also: 2 } }, /unsupported operator also/],
  [{ _id: { $oid: 'x' } }, /^Bad OID passed/],
  [{ 'params.user': { $oid: 7 } }, /^Bad OID passed/],
  [{ ctime: { $date: 'yesterday' } }, /bad date/],
  [{ $or: [] }, /\$or must be a list/],
  [{ status: { $in: 1 } }, /\$in must be a list/],
  [[], /name\/value object/],
  [{ status: { $in: Array(10_001).fill(1) } }, /too many values/],
  [{ $or: Array.from({ length: 501 }, (_, n) => ({ status: n })) }, /at most 500 conditions/],
  [nested(20), /too deeply/],
  [{ [Array(30).fill('a').join('.')]: 1 }, /too deeply/],
])('%j is refused', (filter, why) => {
  expect(() => readFilter(filter, TASK_FIELDS)).toThrow(why);
});

function nested(depth: number): Json {
  return depth === 0 ? { status: 1 } : { $and: [nested(depth - 1)] };
}

describe('what the database looks up', () => {
  test('is the queue, the id and the status', () => {
    const filter = { queue: QUEUE, status: { $in: [-2, -1] }, _id: { $gt: { $oid: ID } } };
    expect(narrow(readFilter(filter, TASK_FIELDS))).toEqual({
      whole: true,
      queues: [QUEUE],
      statuses: [-2, -1],
      after: ID,
    });
  });

  test('leaves the rest to be judged of each task', () => {
    const filter = { status: { $gte: 1, $ne: 4 }, 'params.a': 1 };
    expect(narrow(readFilter(filter, TASK_FIELDS))).toEqual({ whole: false, leastStatus: 1 });
    expect(narrow(readFilter({ $or: [{ status: 1 }] }, TASK_FIELDS))).toEqual({ whole: false });
  });
});

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;
const operator = fc.constantFrom('$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$exists', '$not', '$what');
const field = fc.constantFrom(
  '_id',
  'queue',
  'status',
  'ctime',
  'params.tags',
  'params.steps.n',
  'node',
  'params.size',
);
const filters = fc.letrec<{ filter: Json; tests: Json }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    json,
    fc.dictionary(field, tie('tests'), { maxKeys: 3 }) as fc.Arbitrary<Json>,
    fc
      .tuple(fc.constantFrom('$and', '$or', '$nor'), fc.array(tie('filter'), { maxLength: 3 }))
      .map(([name, of]) => ({ [name]: of })),
  ),
  tests: fc.oneof(
    { maxDepth: 3 },
    json,
    fc.dictionary(operator, fc.oneof(json, tie('tests')), { maxKeys: 2 }),
  ) as fc.Arbitrary<Json>,
})).filter;

test('whatever a filter is, it is read and judged, or refused', () => {
  fc.assert(
    fc.property(filters, json, (filter, params) => {
      try {
        const condition = readFilter(filter, TASK_FIELDS);
        narrow(condition);
        return typeof matches(condition, { ...TASK, params }) === 'boolean';
      } catch (error) {
        if (error instanceof Refusal) return true;
        throw error;
      }
    }),
    { numRuns: 1000 },
  );
});

test('what the database leaves out does not fit', () => {
  const status = fc.integer({ min: -8, max: 4 });
  const test = fc.oneof(
    status,
    fc.record({ $in: fc.array(status, { maxLength: 3 }) }),
    fc.record({ $gt: status, $lte: status }, { requiredKeys: [] }),
  ) as fc.Arbitrary<Json>;
  fc.assert(
    fc.property(test, status, (asked, is) => {
      const condition = readFilter({ status: asked }, TASK_FIELDS);
      const { statuses, leastStatus = -99, mostStatus = 99, whole } = narrow(condition);
      const found = (statuses?.includes(is) ?? true) && is >= leastStatus && is <= mostStatus;
      const fits = matches(condition, { ...TASK, status: is });
      return whole ? found === fits : found || !fits;
    }),
  );
});
