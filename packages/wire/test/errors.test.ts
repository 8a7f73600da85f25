import { ERRORS, type ErrorCode, MusterError } from '@muster/wire';
import { expect, test } from 'vitest';

test('an error tells in one text what was wrong and what to do, whether its message ends with a stop or not', () => {
  const gone = new MusterError('organization_not_found', { organization: 'x' });
  expect(gone.advice).toBe(`organization 'x' does not exist. ${gone.fix}`);
  const missing = new MusterError('not_found', { kind: 'job', name: 'x' });
  expect(missing.advice).toBe("job 'x' does not exist. List what exists and check the name.");
});

test.each(Object.keys(ERRORS) as ErrorCode[])('%s has no two stops in a row', (code) => {
  expect(new MusterError(code).advice).not.toMatch(/(?<!\.)\.\.(?!\.)/);
});
