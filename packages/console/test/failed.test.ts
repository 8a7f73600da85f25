import { expect, test } from 'vitest';
import { whyFailed } from '../src/session/failed.js';
import { failureOf } from '../src/session/link.js';

test('who comes back from a provider in vain is told what to do, in words of this page alone', () => {
  expect(failureOf('#sign-in-failed=sign_in_expired')).toBe('sign_in_expired');
  expect(whyFailed('sign_in_expired')).toContain('Begin it again');
  expect(whyFailed('never_heard_of')).toContain('(never_heard_of)');
  const forged = ['#sign-in-failed=', '#sign-in-failed=Call%20555', '#sign-in-failed=a/b', '#sign-in=link_AbC-123'];
  expect(forged.map(failureOf)).toEqual(Array(4).fill(null));
});
