import { describe, expect, test } from 'vitest';
import { routingAttributes } from '../../src/routing/attributes.js';
import { readFilter } from '../../src/routing/filter.js';

const MONDAY_21 = Date.UTC(2026, 10, 23, 21, 30);
const JOB = {
  name: 'wc demo',
  owner: 'jdoe',
  tenant: 'acme',
  appId: 'blast_x-1.0',
  systemId: 'frontera',
  archive: true,
  archiveOnAppError: false,
  archiveSystem: null,
  remoteQueue: null,
  nodeCount: 4,
  processorsPerNode: 16,
  memoryMb: 1536,
  maxSeconds: 86_400,
  roles: 'Internal/everyone',
};
const attributes = routingAttributes(JOB, MONDAY_21);
const matches = (text: string): boolean => readFilter(text, 'filter').matches(attributes);

describe('attributes of a request (sheet §4.5)', () => {
  test('are these', () => {
    expect(attributes).toEqual({
      uuid: null,
      name: 'wc demo',
      owner: 'jdoe',
      tenantId: 'acme',
      roles: 'Internal/everyone',
      appId: 'blast_x-1.0',
      systemId: 'frontera',
      archive: true,
      archiveOnAppError: false,
      archiveSystem: null,
      remoteQueue: null,
      nodeCount: 4,
      processorsPerNode: 16,
      memoryPerNode: 1.5,
      maxHours: 24,
      accepted: '2026-11-23T21:30:00.000Z',
      hour: 21,
      dayOfWeek: 1,
    });
  });

  test('have the day of the week in UTC, from Monday, 1, to Sunday, 7', () => {
    expect(routingAttributes({}, Date.UTC(2026, 10, 29, 23, 59)).dayOfWeek).toBe(7);
    expect(routingAttributes({}, Date.UTC(2026, 10, 30, 0, 0))).toMatchObject({ dayOfWeek: 1, hour: 0 });
  });
});

describe('a filter (sheet §4.4)', () => {
  test.each([
    "owner = 'jdoe'",
    'nodeCount > 16 OR maxHours >= 24',
    "systemId IN ('stampede2', 'frontera') AND owner NOT LIKE 'test%'",
    '(hour >= 20 OR hour < 6) AND nodeCount BETWEEN 1 AND 4',
    "appId LIKE 'blast\\_%' ESCAPE '\\'",
    'archive',
    'archive = TRUE and not (archiveOnAppError)',
    'archiveSystem IS NULL AND owner IS NOT NULL',
    'nodeCount * processorsPerNode = 0x40 AND nodeCount % 3 = 01 AND maxHours = 2.4E1',
    "-- at night\nhour > 20 /* and then */ AND owner <> 'x'",
    'nodeCount NOT BETWEEN 5 AND 9',
    "roles LIKE '%everyone%'",
    'tenantId IS NOT NULL',
  ])('matches: %s', (text) => {
    expect(matches(text)).toBe(true);
  });

  test.each([
    "OWNER = 'jdoe'",
    "archiveSystem = 'store'",
    "NOT (archiveSystem = 'store')",
    "archiveSystem <> 'store'",
    'nodeCount / 0 > 1',
    "nodeCount = '4'",
    "remoteQueue NOT IN ('normal')",
    'unheard > 5 OR NOT (unheard > 5)',
    'owner',
  ])('does not match what is false or unknown: %s', (text) => {
    expect(matches(text)).toBe(false);
  });

  test('knows what it asks about', () => {
    const { attributes: names } = readFilter(
      "(hour >= 20 OR owner LIKE 'a%') AND nodeCount + 1 BETWEEN hour AND 4",
      'filter',
    );
    expect(names).toEqual(['hour', 'nodeCount', 'owner']);
  });

  test('refuses an attribute that is no value: JOBS_QUEUE_FILTER_VALUE_ERROR', () => {
    const filter = readFilter('tags IS NOT NULL', 'filter');
    expect(() => filter.matches({ tags: ['a'] })).toThrow('JOBS_QUEUE_FILTER_VALUE_ERROR tags is neither text');
  });
});
