import { afterEach, expect, test } from 'vitest';
import { type PushServer, startPushServer } from './support/push-server.js';

/** How many push jobs one user may have and start, and on how many nodes. */

let server: PushServer;
afterEach(() => server.close());

async function withNodes(settings: Record<string, unknown> = {}): Promise<void> {
  server = await startPushServer(settings);
  for (const node of ['n1', 'n2', 'n3']) server.nodes.enter(server.org.id, node, 'run');
}

async function start(nodes: readonly string[], as: 'admin user' | 'admin client' = 'admin user') {
  const response = await server.send({ method: 'POST', path: 'jobs', body: { command: 'x', nodes }, as });
  const answer = (await response.json()) as { id?: string; error?: string };
  return { status: response.status, headers: response.headers, ...answer };
}

const set = (body: object) => server.send({ method: 'PUT', path: 'settings', body });

test('one user has so many jobs at one time, and the next when one has ended; others have their own', async () => {
  await withNodes({ push: { max_running: 1 } });
  const first = await start(['n1']);
  const second = await start(['n2']);
  expect([first.status, second.status]).toEqual([201, 429]);
  expect(second.headers.get('retry-after')).toMatch(/^\d+$/);
  expect(second.headers.get('x-muster-error')).toBe('push_jobs_running');
  expect(second.error).toBe("'admin' has 1 push jobs that go on, and may have 1 at one time");
  expect((await start(['n3'], 'admin client')).status).toBe(201);
  await server.send({ method: 'PUT', path: `jobs/${first.id}/abort` });
  await server.finish(first.id ?? '');
  expect((await start(['n2'])).status).toBe(201);
});

test('one user starts so many within any minute, and is told when to come again', async () => {
  await withNodes({ push: { max_starts: 2 } });
  expect((await start(['n1'])).status).toBe(201);
  server.clock.advance(20_000);
  expect((await start(['n2'])).status).toBe(201);
  server.clock.advance(25_000);
  const refused = await start(['n3']);
  expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([429, 'push_jobs_started']);
  expect(refused.headers.get('retry-after')).toBe('15');
  server.clock.advance(14_000);
  expect((await start(['n3'])).status).toBe(429);
  server.clock.advance(1000);
  expect((await start(['n3'])).status).toBe(201);
  expect((await start(['n1'])).headers.get('retry-after')).toBe('20');
});

test('a dry run is refused as the start would be, and counts as none', async () => {
  await withNodes({ push: { max_running: 1, max_starts: 2 } });
  const preview = async () => {
    const { status, headers } = await server.send({ method: 'POST', path: 'jobs/preview', body: { nodes: ['n3'] } });
    return [status, headers.get('x-muster-error')];
  };
  expect(await preview()).toEqual([200, null]);
  for (const [node, why] of [['n1', 'push_jobs_running'] as const, ['n2', 'push_jobs_running'] as const]) {
    const { id = '' } = await start([node]);
    expect(await preview()).toEqual([429, why]);
    await server.send({ method: 'PUT', path: `jobs/${id}/abort` });
    await server.finish(id);
  }
  expect(await preview()).toEqual([429, 'push_jobs_started']);
  server.clock.advance(60_000);
  expect(await preview()).toEqual([200, null]);
});

test('an organization narrows what the server allows, also the nodes of a job; what is not given stays', async () => {
  await withNodes();
  expect((await set({ max_nodes: 2, max_running: 1 })).status).toBe(200);
  const answer = await (await set({ max_starts: 10 })).json();
  expect(answer).toEqual({ quorum: null, approval: 'none', max_nodes: 2, max_running: 1, max_starts: 10 });
  const refused = await start(['n1', 'n2', 'n3']);
  expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([403, 'too_many_nodes']);
  const preview = await server.send({ method: 'POST', path: 'jobs/preview', body: { nodes: ['n1', 'n2', 'n3'] } });
  expect(preview.status).toBe(403);
  expect((await start(['n1', 'n2'])).status).toBe(201);
  expect((await start(['n3'])).status).toBe(429);
  expect((await set({ max_running: null })).status).toBe(200);
  expect((await start(['n3'])).status).toBe(201);
  expect([(await set({ max_nodes: 0 })).status, (await set({ max_nodes: 'all' })).status]).toEqual([400, 400]);
});

test('an organization cannot widen what the server allows, and hears of the limit that holds', async () => {
  await withNodes({ push: { max_nodes: 50, max_running: 5 } });
  for (const [field, limit] of [['max_nodes', 50] as const, ['max_running', 5] as const]) {
    const refused = await set({ [field]: limit + 1, max_starts: 7 });
    expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([400, 'invalid_field']);
    expect(await refused.text()).toMatch(new RegExp(`${field}.* the ${limit} that .*push\\.${field}`));
    // What stands beside it is not set either.
    expect(await (await set({ [field]: limit })).json()).toMatchObject({ [field]: limit, max_starts: null });
  }
  // Of starts the server allows any number.
  expect((await set({ max_starts: 1_000_000 })).status).toBe(200);
});

test('the audit says which settings were set, and all as they are from then on, also those that are as the server has them', async () => {
  await withNodes();
  await set({ max_nodes: 50, max_starts: 3 });
  await set({ max_nodes: null, max_running: null });
  const entries = await server.auth.audit.page({ orgId: server.org.id, limit: 2, action: 'push.settings' });
  const kept = { quorum: 'all nodes', approval: 'none', max_running: 'all', max_starts: 3 };
  expect(entries.map(({ detail }) => detail)).toEqual([
    { ...kept, set: 'max_nodes, max_running', max_nodes: 'all' },
    { ...kept, set: 'max_nodes, max_starts', max_nodes: 50 },
  ]);
});
