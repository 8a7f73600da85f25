import { expect, test } from 'vitest';
import { assertAsDeclared } from './support/documented-json.js';

/** What every `muster … --json` of these tests is held against. */
const KEY = { fingerprint: 'a', public_key: 'PEM', created_at: '2026-11-01T00:00:00.000Z', expires_at: null };

test('what a command declares passes, with what may be absent and without', () => {
  const one = { url: 'http://x', organization: 'o', signed_out: false };
  assertAsDeclared(['logout', '--json'], JSON.stringify(one));
  assertAsDeclared(['logout', '--json'], JSON.stringify({ ...one, user: 'anna' }));
  assertAsDeclared(['user', 'keys', 'anna', '--json'], JSON.stringify([KEY]));
  assertAsDeclared(['dead-letter', 'drop', 'a', 'b'], '{"id":"a","dropped":true}\n{"id":"b","dropped":true}\n');
});

test.each([
  ['a key that is not declared', ['user', 'keys', 'anna'], [{ ...KEY, secret: 1 }], 'secret'],
  ['one that is missing', ['user', 'keys', 'anna'], [{ ...KEY, created_at: undefined }], 'created_at'],
  ['one of another type', ['user', 'keys', 'anna'], [{ ...KEY, expires_at: 7 }], 'expires_at'],
  ['one deep inside', ['node', 'search', 'q'], { total: 1, nodes: [{ node_name: 'a' }] }, '/nodes/0'],
  ['a line of many', ['dead-letter', 'drop', 'a', 'b'], { id: 'a', dropped: 'yes' }, 'dropped'],
])('%s does not pass', (_, args, printed, named) => {
  expect(() => assertAsDeclared(args, JSON.stringify(printed))).toThrow(named);
});
