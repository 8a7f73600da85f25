import { declaredErrors } from '@muster/base';
import { expect, test } from 'vitest';
import '../src/index.js';

/** What an error says to do is told in a header, which holds ASCII only: anything else would be a question mark there. */

test('every error, and what it says to do, is ASCII', () => {
  const texts = [...declaredErrors()].flatMap(([code, { message, fix }]) => [`${code}: ${message}`, `${code}: ${fix}`]);
  for (const code of ['rate_limited', 'push_jobs_running', 'job_permission_not_found', 'node_name_mismatch']) {
    expect(declaredErrors().has(code)).toBe(true);
  }
  expect(texts.filter((text) => /[^\x20-\x7e]/.test(text))).toEqual([]);
});
