import { afterAll, beforeAll, expect, it } from 'vitest';
import { type FrontServer, startFront } from '../support/front-server.js';

let server: FrontServer;
beforeAll(async () => {
  server = await startFront();
});
afterAll(() => server.close());

const AT = '/organizations/default/job-import';
const row = (uuid: string, given: object = {}) => ({
  ...{ uuid, name: 'old', owner: 'jdoe', status: 'FINISHED', app_id: 'wc-1.0', created: '2016-01-02 03:04:05' },
  ...given,
});

it('jobs of another system are listed and read by who had them, and not resubmitted', async () => {
  const history = [
    { status: 'PENDING', created: '2016-01-02 03:04:05', description: 'accepted' },
    { status: 'FINISHED', created: '2016-01-02 04:04:05', description: 'done' },
  ];
  const body = [row('1-007', { history }), row('2-007', { owner: 'anna' }), row('3-007', { status: 'RUNNING' })];
  const answer = await server.send({ method: 'POST', at: AT, as: 'admin', body });
  expect(answer.body).toEqual({
    imported: 2,
    present: 0,
    errors: [{ row: 3, error: expect.stringContaining('job.status: is RUNNING') }],
  });
  expect((await server.get('')).map(({ id }: { id: string }) => id)).toEqual(['1-007']);
  expect((await server.get('/1-007')).created).toBe('2016-01-02T03:04:05.000Z');
  expect((await server.get('/1-007/history')).map(({ status }: { status: string }) => status)).toEqual([
    'PENDING',
    'FINISHED',
  ]);
  const again = await server.send({ method: 'POST', path: '/1-007/resubmit', body: {} });
  expect([again.status, again.message]).toEqual([404, expect.stringContaining('1-007')]);
});

it('what is there already is left as it is, and the rest comes', async () => {
  await server.send({ method: 'POST', at: AT, as: 'admin', body: [row('4-007', { name: 'first' })] });
  const body = [row('4-007', { name: 'second' }), row('5-007'), row('5-007')];
  const answer = await server.send({ method: 'POST', at: AT, as: 'admin', body });
  expect(answer.body).toEqual({ imported: 1, present: 2, errors: [] });
  expect((await server.get('/4-007')).name).toBe('first');
});

it('only administrators of jobs take over jobs', async () => {
  const answer = await server.send({ method: 'POST', at: AT, as: 'jdoe', body: [row('6-007')] });
  expect(answer.status).toBe(403);
});
