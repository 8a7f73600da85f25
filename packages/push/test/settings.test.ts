import { afterAll, beforeAll, expect, test } from 'vitest';
import { type PushServer, startPushServer } from './support/push-server.js';

/** The quorum that an organization sets for jobs that ask for it. */

let server: PushServer;
beforeAll(async () => {
  server = await startPushServer();
  for (const node of ['n1', 'n2', 'n3']) server.nodes.enter(server.org.id, node, 'succeed');
  server.nodes.enter(server.org.id, 'DOWN', 'down');
});
afterAll(() => server.close());

const put = (quorum: unknown, as: 'admin user' | 'normal user' = 'admin user') =>
  server.send({ method: 'PUT', path: 'settings', body: { quorum }, as });
const settings = async () => (await server.send({ path: 'settings', as: 'normal user' })).json();

async function job(body: object) {
  const id = await server.start({ command: 'x', nodes: ['n1', 'n2', 'n3', 'DOWN'], ...body });
  const { status, quorum } = await server.finish(id, '?detail=true');
  return [status, quorum];
}

test('is all nodes at first, and then a share; jobs that name none ask all nodes as before', async () => {
  expect(await settings()).toMatchObject({ quorum: null });
  expect(await job({ quorum: 'default' })).toEqual(['quorum_failed', 4]);
  expect((await put('75%')).status).toBe(200);
  expect(await settings()).toMatchObject({ quorum: '75%' });
  expect(await job({ quorum: 'default' })).toEqual(['complete', 3]);
  expect(await job({})).toEqual(['quorum_failed', 4]);
  expect((await put(null)).status).toBe(200);
  expect(await job({ quorum: 'default' })).toEqual(['quorum_failed', 4]);
});

test('is a percentage, and set by admins alone', async () => {
  expect([(await put('120%')).status, (await put('many')).status, (await put(3)).status]).toEqual([400, 400, 400]);
  expect((await put('50%', 'normal user')).status).toBe(403);
  expect(await settings()).toMatchObject({ quorum: null });
});
