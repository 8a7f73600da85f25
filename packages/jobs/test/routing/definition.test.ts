import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MusterError } from '../../src/errors.js';
import { checkFile, readQueue, readQueues } from '../../src/routing/definition.js';

const PREFIX = 'aloe.jobq.acme.submit.';
const GOOD = { name: `${PREFIX}Long`, tenantId: 'acme', priority: 2, filter: 'nodeCount > 16' };
const FILE = { tenant: 'acme', file: 'acme.json' };
const ONE = { tenant: 'acme', file: null };

const told = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof MusterError) return `${error.status} ${error.message}`;
    throw error;
  }
  return 'accepted';
};

describe('a definition of a queue', () => {
  test('is read as it stands in a file', () => {
    const { name, priority, filter } = GOOD;
    expect(readQueues([GOOD], FILE)).toEqual([{ name, priority, filter }]);
    expect(readQueues(GOOD, FILE)).toEqual([{ name, priority, filter }]);
    expect(readQueues({ queues: [GOOD] }, FILE)).toEqual([{ name, priority, filter }]);
  });

  test('may be that of the default queue, with its priority', () => {
    const definition = { ...GOOD, name: `${PREFIX}DefaultQueue`, priority: 1 };
    expect(readQueue(definition, 'queue', ONE)).toMatchObject({ priority: 1 });
  });

  test.each<[string, unknown]>([
    ['JOBS_QUEUE_NULL queues.0', null],
    ['JOBS_QUEUE_NULL queues.0', 'x'],
    ['JOBS_QUEUE_MISSING_NAME queues.0.name', { ...GOOD, name: undefined }],
    ['JOBS_QUEUE_MISSING_NAME queues.0.name', { ...GOOD, name: '  ' }],
    ['JOBS_QUEUE_MISSING_TENANT_ID queues.0.tenantId', { ...GOOD, tenantId: undefined }],
    [
      `JOBS_QUEUE_WRONG_TENANT_ID queues.0.tenantId: queue ${PREFIX}Long in acme.json is of 'other', and 'acme' was expected`,
      { ...GOOD, tenantId: 'other' },
    ],
    ['JOBS_QUEUE_LONG_NAME queues.0.name', { ...GOOD, name: PREFIX + 'x'.repeat(256 - PREFIX.length) }],
    ['JOBS_QUEUE_INVALID_NAME queues.0.name', { ...GOOD, name: `${PREFIX}a b` }],
    ['JOBS_QUEUE_INVALID_NAME queues.0.name', { ...GOOD, name: 7 }],
    ['JOBS_QUEUE_INVALID_NAME_PREFIX queues.0.name', { ...GOOD, name: 'aloe.jobq.other.submit.Long' }],
    ['JOBS_QUEUE_RESERVED_NAME_PREFIX queues.0.name', { ...GOOD, name: 'aloe.jobq.AllTenants.submit.Long' }],
    ['JOBS_QUEUE_NAME_NO_SUFFIX queues.0.name', { ...GOOD, name: PREFIX }],
    ['JOBS_QUEUE_INVALID_NAME_SUFFIX queues.0.name', { ...GOOD, name: `${PREFIX}a.b` }],
    ['JOBS_QUEUE_INVALID_PRIORITY queues.0.priority', { ...GOOD, priority: 0 }],
    ['JOBS_QUEUE_INVALID_PRIORITY queues.0.priority', { ...GOOD, priority: 2.5 }],
    ['JOBS_QUEUE_INVALID_PRIORITY queues.0.priority', { ...GOOD, priority: undefined }],
    ['JOBS_QUEUE_INVALID_DEFAULT_QUEUE_DEF queues.0.priority', { ...GOOD, name: `${PREFIX}DefaultQueue` }],
    ['JOBS_QUEUE_INVALID_NON_DEFAULT_QUEUE_DEF queues.0.priority', { ...GOOD, priority: 1 }],
    ['JOBS_QUEUE_FILTER_EMPTY queues.0.filter', { ...GOOD, filter: undefined }],
    ['JOBS_QUEUE_FILTER_EMPTY queues.0.filter', { ...GOOD, filter: ' \n' }],
    ['JOBS_QUEUE_FILTER_EMPTY queues.0.filter', { ...GOOD, filter: '/* all */' }],
    ['JOBS_QUEUE_FILTER_PARSE_ERROR queues.0.filter', { ...GOOD, filter: 'nodeCount >' }],
    ['JOBS_QUEUE_FILTER_PARSE_ERROR queues.0.filter', { ...GOOD, filter: 'nodeCount = NULL' }],
    ['JOBS_QUEUE_FILTER_PARSE_ERROR queues.0.filter', { ...GOOD, filter: "owner > 'a'" }],
    ['JOBS_QUEUE_FILTER_PARSE_ERROR queues.0.filter', { ...GOOD, filter: 7 }],
    ['JOBS_QUEUE_FILTER_PARSE_ERROR queues.0.filter', { ...GOOD, filter: `owner = '${'x'.repeat(4096)}'` }],
    ['invalid queues.0.colour: there is no such field', { ...GOOD, colour: 'red' }],
  ])('of a file is refused: %s', (expected, definition) => {
    const message = told(() => readQueues([definition], FILE));
    expect(message).toContain(`400 ${expected}`);
  });

  test('that has the priority of another one of the file is refused: JOBS_QUEUE_DUP_PRIORITY', () => {
    const other = { ...GOOD, name: `${PREFIX}Other` };
    expect(told(() => readQueues([GOOD, other], FILE))).toContain(
      '400 JOBS_QUEUE_DUP_PRIORITY queues.1.priority: 2 is also that of queues.0',
    );
  });

  test('that is changed stays of its tenant: JOBS_QUEUE_UPDATE_MISMATCHED_TENANT', () => {
    expect(told(() => readQueue({ ...GOOD, tenantId: 'other' }, 'queue', ONE))).toContain(
      '400 JOBS_QUEUE_UPDATE_MISMATCHED_TENANT queue.tenantId',
    );
  });

  test('that asks about what no request has is refused, and told what was probably meant', () => {
    const asking = (filter: string) => told(() => readQueues([GOOD, { ...GOOD, filter }], FILE));
    expect(asking('nodeCount > 2 OR maxHourz >= 24')).toBe(
      "400 JOBS_QUEUE_FILTER_PARSE_ERROR queues.1.filter: requests have no 'maxHourz': did you mean maxHours?",
    );
    expect(asking("execSystemLogicalQueue = 'x'")).toContain('it is one of uuid, name, owner, tenantId, roles,');
  });

  test('that is changed keeps a filter: JOBS_QUEUE_UPDATE_FILTER_EMPTY', () => {
    expect(told(() => readQueue({ ...GOOD, filter: '' }, 'queue', ONE))).toContain(
      '400 JOBS_QUEUE_UPDATE_FILTER_EMPTY queue.filter',
    );
  });

  test('comes from a file with the name of the tenant: JOBS_QUEUE_MISSING_TENANT, JOBS_QUEUE_MISMATCHED_TENANT', () => {
    expect(told(() => checkFile('queues/acme.json', 'acme'))).toBe('accepted');
    expect(told(() => checkFile('.json', 'acme'))).toContain('400 JOBS_QUEUE_MISSING_TENANT file');
    expect(told(() => checkFile('acme.yaml', 'acme'))).toContain('400 JOBS_QUEUE_MISSING_TENANT file');
    expect(told(() => checkFile('other.json', 'acme'))).toContain(
      "400 JOBS_QUEUE_MISMATCHED_TENANT file: these are definitions of 'other'",
    );
  });

  test('too many of which are refused whole: JOBS_QUEUE_DEFINITIONS_LOAD_ERROR', () => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, at) => ({ ...GOOD, name: `${PREFIX}q${at}`, priority: at + 2 }));
    expect(readQueues(many(1000), FILE)).toHaveLength(1000);
    expect(told(() => readQueues(many(1001), FILE))).toContain('400 JOBS_QUEUE_DEFINITIONS_LOAD_ERROR');
  });

  test('is refused by a declared error, whatever it is', () => {
    const scrambled = fc.dictionary(fc.constantFrom(...Object.keys(GOOD), 'lastUpdated'), fc.jsonValue());
    const bodies = fc.oneof(
      fc.jsonValue(),
      scrambled.map((change) => ({ ...GOOD, ...change })),
    );
    fc.assert(
      fc.property(fc.oneof(bodies, fc.array(bodies)), (body) => {
        expect(told(() => readQueues(body, FILE))).toMatch(/^(accepted|400 )/);
      }),
    );
  });
});
