import { expect, expectTypeOf, test } from 'vitest';
import { type DetailsOf, declareErrors, MusterError } from '../src/errors.js';

test('an error tells in one text what was wrong and what to do, whether its message ends with a stop or not', () => {
  const gone = new MusterError('organization_not_found', { organization: 'x' });
  expect(gone.advice).toBe(`organization 'x' does not exist. ${gone.fix}`);
  const missing = new MusterError('not_found', { kind: 'job', name: 'x' });
  expect(missing.advice).toBe("job 'x' does not exist. List what exists and check the name.");
});

test('what an error must tell of itself is what its message and its fix leave open', () => {
  expectTypeOf<keyof DetailsOf<'not_found'>>().toEqualTypeOf<'kind' | 'name'>();
  // @ts-expect-error: nothing says which organization
  expect(new MusterError('organization_not_found').message).toContain('{organization}');
});

test('two layers cannot give two meanings to one code', () => {
  const again = { not_found: { status: 410, exit: 4, message: 'gone', fix: 'Look elsewhere.' } };
  expect(() => declareErrors(again)).toThrow('not_found');
});

test('an error that no loaded layer declares is found at once', () => {
  expect(() => MusterError.told('nobody_declares_this' as 'not_found', {})).toThrow('nobody_declares_this');
});
