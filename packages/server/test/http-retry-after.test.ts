import { declaredErrors, type ErrorCode, type ErrorRow } from '@muster/base';
import { AGAVE_ERRORS } from '@muster/jobs/http';
import fastify from 'fastify';
import { afterAll, describe, expect, test } from 'vitest';
import { sendError } from '../../platform/src/http/errors.js';
import { MusterError } from '../src/errors.js';
import '../src/layers.js';

/** Which refusals say when to come again: all that pass by waiting, and no others. */

const SECONDS = 7;
const declared = [...declaredErrors()];
const isPassing = ({ status }: ErrorRow) => status === 429 || status === 503;

/** With something for whatever its text tells. */
function errorOf(code: string, { message, fix }: ErrorRow): MusterError {
  const holes = [...`${message}${fix}`.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
  const details = Object.fromEntries(holes.map((name) => [name, name === 'seconds' ? SECONDS : 'x']));
  return MusterError.told(code as ErrorCode, details);
}

const app = fastify();
app.setErrorHandler<MusterError>((error, request, reply) => sendError(error, request, reply, [AGAVE_ERRORS]));
for (const path of ['/errors/:code', '/jobs/v2/:code']) {
  app.get<{ Params: { code: string } }>(path, ({ params: { code } }) => {
    const row = declaredErrors().get(code);
    throw row === undefined ? new Error(`there is no ${code}`) : errorOf(code, row);
  });
}
afterAll(() => app.close());

async function retryAfter(path: string): Promise<string | undefined> {
  const { headers } = await app.inject({ url: path });
  return headers['retry-after'] as string | undefined;
}

test.each(['/errors', '/jobs/v2'])(
  'below %s what passes by waiting has Retry-After, and nothing else has',
  async (below) => {
    const told = await Promise.all(
      declared.map(async ([code]) => [code, await retryAfter(`${below}/${code}`)] as const),
    );
    const having = told.filter(([, seconds]) => seconds !== undefined);
    expect(having.map(([code]) => code)).toEqual(declared.filter(([, row]) => isPassing(row)).map(([code]) => code));
    expect(having.filter(([, seconds]) => !/^[1-9]\d*$/.test(seconds ?? ''))).toEqual([]);
  },
);

describe('a limit', () => {
  test.each([
    ['rate_limited', SECONDS],
    ['push_jobs_started', SECONDS],
    ['push_jobs_running', 5],
    ['sign_in_throttled', SECONDS],
    ['too_busy', 5],
  ])('over time says when to come again: %s', async (code, seconds) => {
    expect(await retryAfter(`/errors/${code}`)).toBe(String(seconds));
  });

  test('that waiting does not change says nothing of that', async () => {
    const fixed = declared.filter(([code]) => code.startsWith('too_many_'));
    expect(fixed.map(([code]) => code)).toContain('too_many_nodes');
    for (const [code] of fixed) expect([code, await retryAfter(`/errors/${code}`)]).toEqual([code, undefined]);
  });
});
