import { afterAll, beforeAll, expect, test } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { type Persona, type PushServer, startPushServer } from './support/push-server.js';

/** Batches over REST, as a program that rolls something out uses them. */

let server: PushServer;

beforeAll(async () => {
  server = await startPushServer();
  for (const name of ['web1', 'web2', 'web3']) server.nodes.enter(server.org.id, name, 'succeed');
});
afterAll(() => server.close());

const NODES = ['web1', 'web2', 'web3'];

interface Shown {
  readonly status: string;
  readonly batch?: { readonly number: number; readonly hold: string | null };
}

async function look(id: string): Promise<Shown> {
  return (await (await server.send({ path: `jobs/${id}?detail=true` })).json()) as Shown;
}

async function isHeld(id: string, hold: string): Promise<Shown> {
  for (;;) {
    const job = await look(id);
    if (job.batch?.hold === hold) return job;
    await new Promise(setImmediate);
  }
}

const goOn = (id: string, as: Persona = 'admin user', seen = '') =>
  server.send({ method: 'PUT', path: `jobs/${id}/continue${seen}`, as });

test('a canary, then the rest once somebody has looked: shown, explained, told and recorded', async () => {
  const id = await server.start({ command: 'x', nodes: NODES, batches: [1, 'rest'], batch_confirm: true });
  const held = await isHeld(id, 'confirm');
  expect(held).toMatchObject({
    status: 'running',
    batches: [1, 3],
    batch_confirm: true,
    counts: { succeeded: 1, ready: 2 },
  });
  expect(held).toMatchObject({ reason: 'batch 1 has ended: the next waits until somebody continues the job' });
  const why = (await (await server.send({ path: `jobs/${id}/why` })).json()) as { why: string[]; nodes: object[] };
  expect(why.why).toContain('Batch 1 was started.');
  expect(why.why.join(' ')).toContain(`muster push continue ${id}`);
  expect(why.nodes).toMatchObject([
    { node_name: 'web2', waits_for: 'turn', reason: 'is ready; the job waits to be continued with its next batch' },
    { node_name: 'web3', waits_for: 'turn' },
  ]);
  expect((await goOn(id, 'normal user')).status).toBe(403);
  const other = await goOn(id, 'admin user', '?batch=2');
  expect([other.status, await other.text()]).toEqual([409, expect.stringContaining('not where it was seen')]);
  expect((await goOn(id, 'admin user', '?batch=1&excused=0')).status).toBe(200);
  expect(await server.finish(id, '?detail=true')).toMatchObject({ status: 'complete', nodes: { succeeded: NODES } });
  const batches = (await server.events(id)).filter(({ event }) => event === 'batch').map(({ data }) => data);
  expect(batches).toMatchObject([
    { batch: 1, status: 'begun' },
    { batch: 1, status: 'confirm' },
    { batch: 2, status: 'begun' },
  ]);
  const entries = await server.auth.audit.page({ orgId: server.org.id, limit: 9, action: 'push.continue' });
  expect(entries).toMatchObject([{ target: id, outcome: 'done' }]);
});

test('who may not look at a job may continue it, by digits of its id, and is shown none of it', async () => {
  const readers = { users: ['admin'], clients: [], groups: [], exclusive: true };
  await server.auth.groups.put(server.org, 'push_job_readers', readers, ME);
  try {
    const id = await server.start({ command: 'x', nodes: NODES, batches: [1, 'rest'], batch_confirm: true });
    await isHeld(id, 'confirm');
    const answer = await goOn(id.slice(12), 'admin client');
    expect([answer.status, await answer.json()]).toEqual([200, { id, status: 'running' }]);
    await server.finish(id);
    const aborted = await server.send({ method: 'PUT', path: `jobs/${id}/abort`, as: 'admin client' });
    expect([aborted.status, await aborted.json()]).toEqual([200, { id, status: 'complete' }]);
  } finally {
    await server.auth.groups.remove(server.org, 'push_job_readers', ME);
  }
});

test('what is not held is not continued', async () => {
  const id = await server.start({ command: 'x', nodes: NODES });
  await server.finish(id);
  const refused = await goOn(id);
  expect([refused.status, await refused.text()]).toEqual([
    409,
    expect.stringContaining('does not wait to be continued'),
  ]);
  expect((await goOn('0'.repeat(32))).status).toBe(404);
});

test('failures end the rest, hold it, or abort what runs', async () => {
  server.nodes.enter(server.org.id, 'web1', 'fail');
  const body = { command: 'x', nodes: NODES, concurrency: 1, max_failures: 0 };
  const ended = await server.finish(await server.start(body));
  expect(ended).toMatchObject({ status: 'complete', nodes: { failed: ['web1'], was_ready: ['web2', 'web3'] } });
  const id = await server.start({ ...body, on_failures: 'hold' });
  expect(await isHeld(id, 'failures')).toMatchObject({ reason: '1 node failed, 0 allowed', on_failures: 'hold' });
  expect((await goOn(id)).status).toBe(200);
  expect(await server.finish(id)).toMatchObject({ nodes: { failed: ['web1'], succeeded: ['web2', 'web3'] } });
  server.nodes.enter(server.org.id, 'web2', 'run');
  const aborted = await server.finish(await server.start({ ...body, concurrency: 2, on_failures: 'abort' }));
  expect(aborted).toMatchObject({
    status: 'aborted',
    nodes: { failed: ['web1'], aborted: ['web2'], was_ready: ['web3'] },
  });
});
