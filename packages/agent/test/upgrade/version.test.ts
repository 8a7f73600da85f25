import { expect, test } from 'vitest';
import { compareVersions, isVersion } from '../../src/upgrade/version.js';

test.each(['1.2.3', '0.0.0', '10.20.30-rc.1', '1.0.0-alpha-x'])('%s is a version', (text) => {
  expect(isVersion(text)).toBe(true);
});

test.each([
  '',
  '1.2',
  'v1.2.3',
  '1.2.3 ',
  '1.2.3/..',
  '../1.2.3',
  '1.2.3-',
  '1.2.3-..',
  '1.2.3+build',
  '1234567890.0.0',
])("'%s' is none", (text) => expect(isVersion(text)).toBe(false));

test('versions are in the order of semantic versions', () => {
  const order = [
    '1.0.0-1',
    '1.0.0-2',
    '1.0.0-10',
    '1.0.0-a',
    '1.0.0-a.1',
    '1.0.0-b',
    '1.0.0',
    '1.0.2',
    '1.0.10',
    '1.2.0',
    '2.0.0',
  ];
  const mixed = [...order].reverse();
  expect(mixed.sort(compareVersions)).toEqual(order);
});
