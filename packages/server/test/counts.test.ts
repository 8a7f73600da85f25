import { ManualClock } from '@muster/base';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** What happened in the last hours, in numbers, as far as whoever asks may read it. */

const ORG = '/organizations/default';
const clock = new ManualClock();
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ clock });
  await server.api.post('/users', { name: 'alice', public_key: sharedKey().publicKey, organization: 'default' });
});
afterAll(() => server.stop());

interface Answer {
  readonly hours: readonly string[];
  readonly counts: readonly {
    readonly type: string;
    readonly status: string | null;
    readonly total: number;
    readonly per_hour: readonly number[];
  }[];
  readonly left_out: readonly { readonly type: string; readonly permission: string; readonly holders: string }[];
}

it('tells of every hour, the present one last', async () => {
  const { status, body, text } = await server.api.get(`${ORG}/counts?hours=3`);
  expect(status, text).toBe(200);
  const { hours, counts, left_out } = body as Answer;
  expect(hours).toHaveLength(3);
  expect(new Date(hours[2] ?? '').getTime()).toBeLessThanOrEqual(clock.now());
  expect(counts).toContainEqual({ type: 'node.down', status: null, total: 0, per_hour: [0, 0, 0] });
  expect(counts.map(({ type }) => type)).toEqual(['node.up', 'node.down', 'job.finished', 'job.stopped', 'job.failed']);
  expect(left_out).toEqual([]);
});

it('leaves out what the caller may not read, and says who may', async () => {
  const { privateKey } = sharedKey();
  const alice = server.api.as({ name: 'alice', privateKey });
  const { counts, left_out } = (await alice.get(`${ORG}/counts`)).body as Answer;
  expect(counts.map(({ type }) => type)).toEqual(['node.up', 'node.down']);
  expect(left_out.map(({ type, permission }) => [type, permission])).toEqual(
    ['job.finished', 'job.stopped', 'job.failed'].map((type) => [type, 'job:admin']),
  );
  expect(left_out[0]?.holders).toContain("'job_admins'");
});

it('is of a day at most', async () => {
  for (const hours of ['0', '25', 'x']) expect((await server.api.get(`${ORG}/counts?hours=${hours}`)).status).toBe(400);
});
