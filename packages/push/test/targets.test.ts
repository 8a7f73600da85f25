import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { savePushJob } from '../src/repository/writes.js';
import { jobRow, jobId as numbered } from './support/push-rows.js';
import { type Persona, type PushServer, startPushServer } from './support/push-server.js';

/** How a job's nodes are chosen (Push Jobs §5.3.1), and who may run commands on them (§5.3.2, N13). */

let server: PushServer;

beforeAll(async () => {
  server = await startPushServer({ push: { max_nodes: 4 } });
  const { nodes, org } = server;
  nodes.enter(org.id, 'web1', 'succeed', { role: 'web', env: 'prod' });
  nodes.enter(org.id, 'web2', 'fail', { role: 'web', env: 'prod' });
  nodes.enter(org.id, 'db1', 'succeed', { role: 'db', env: 'prod' });
  nodes.enter(org.id, 'open', 'succeed', { role: 'open' });
});
afterAll(() => server.close());

const group = (name: string, content: { nodes?: string[]; query?: string; users?: string[]; groups?: string[] }) =>
  server.auth.nodeGroups.put(
    server.org,
    name,
    {
      nodes: content.nodes ?? null,
      query: content.query ?? null,
      execute: { users: content.users ?? [], clients: [], groups: content.groups ?? [] },
    },
    ME,
  );
const post = (body: object, as: Persona = 'admin user') => server.send({ method: 'POST', path: 'jobs', body, as });
const preview = (body: object, as: Persona = 'admin user') =>
  server.send({ method: 'POST', path: 'jobs/preview', body, as });
const nodesOf = async (id: string) => (await server.finish(id)).nodes;
const audit = async () => {
  const rows = await server.test.store.read.selectFrom('audit').selectAll().orderBy('id', 'desc').limit(5).execute();
  return rows.map(({ detail, ...row }) => ({ ...row, detail: JSON.parse(detail) as unknown }));
};

describe('targets', () => {
  it('search: all nodes that match', async () => {
    expect(await nodesOf(await server.start({ command: 'x', search: 'role:web AND env:prod' }))).toEqual({
      succeeded: ['web1'],
      failed: ['web2'],
    });
  });

  it('node_group: listed or selected', async () => {
    await group('listed', { nodes: ['web1', 'gone'] });
    await group('selected', { query: "role = 'db'" });
    const listed = await server.start({ command: 'x', node_group: 'listed', quorum: '50%' });
    expect(await nodesOf(listed)).toEqual({ succeeded: ['web1'], unavailable: ['gone'] });
    expect(await nodesOf(await server.start({ command: 'x', node_group: 'selected' }))).toEqual({ succeeded: ['db1'] });
  });

  it('from_job: the nodes of an earlier job by their status (§1.1)', async () => {
    const first = await server.start({ command: 'x', nodes: ['web1', 'web2', 'gone'], quorum: 2 });
    await server.finish(first);
    const again = (statuses: string[]) => ({ command: 'x', from_job: { id: first, statuses }, quorum: 0 });
    expect(await nodesOf(await server.start(again(['failed'])))).toEqual({ failed: ['web2'] });
    expect(await nodesOf(await server.start(again(['complete', 'unavailable'])))).toEqual({
      succeeded: ['web1'],
      failed: ['web2'],
      unavailable: ['gone'],
    });
  });

  it('from_job: says of which job no node has such a status', async () => {
    const first = await server.start({ command: 'x', nodes: ['web1', 'web2', 'gone'], quorum: 2 });
    await server.finish(first);
    const response = await post({
      command: 'x',
      from_job: { id: first, statuses: ['nacked', 'crashed', 'was_ready'] },
    });
    expect([response.status, await response.json()]).toEqual([
      400,
      { error: `no node of job ${first} is refused, crashed or not started` },
    ]);
  });

  it.each([
    [{ search: 'role:none' }, 400, 'no node matches role:none'],
    [{ search: 'role:' }, 400, /^invalid search at character \d+: /],
    [{ search: '*:*', nodes: ['A'] }, 400, 'at least one node must be supplied'],
    [{ node_group: 'none' }, 404, "node group 'none' does not exist"],
    [{ from_job: { id: numbered(77), statuses: ['failed'] } }, 404, `job '${numbered(77)}' does not exist`],
    [{ nodes: ['1', '2', '3', '4', '5'] }, 403, '5 nodes are chosen, and the server allows 4 in one push job'],
  ])('%j is refused', async (target, status, text) => {
    for (const response of [await post({ command: 'x', ...target }), await preview(target)]) {
      expect(response.status).toBe(status);
      const { error } = (await response.json()) as { error: string };
      if (typeof text === 'string') expect(error).toBe(text);
      else expect(error).toMatch(text);
    }
  });

  it('more nodes than a job may have are refused, also when searched for', async () => {
    server.nodes.enter(server.org.id, 'more', 'down');
    const response = await post({ command: 'x', search: '*:*' });
    expect([response.status, response.headers.get('x-muster-error')]).toEqual([403, 'too_many_nodes']);
    expect(await response.json()).toEqual({ error: '5 nodes are chosen, and the server allows 4 in one push job' });
    expect(response.headers.get('x-muster-fix')).toContain('push.max_nodes');
  });

  it('from_job: a job of another organization does not exist', async () => {
    const elsewhere = await server.auth.organizations.require('elsewhere');
    await server.test.store.commit([savePushJob(jobRow({ id: numbered(88), org_id: elsewhere.id }))]);
    expect((await post({ command: 'x', from_job: { id: numbered(88), statuses: ['failed'] } })).status).toBe(404);
  });

  it('preview: which nodes it would be, without starting anything', async () => {
    await group('reserved', { nodes: ['db1'], users: ['grantee'] });
    const response = await preview({ search: 'env:prod' });
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        approval: false,
        counts: { asked: 2, uncertain: 0, no_right: 1, unknown: 0, down: 0, rehab: 0, busy: 0, not_allowed: 0 },
        quorum: { needed: 3, least: 2, most: 2, verdict: 'unreachable', waits: false },
        count: 3,
        nodes: ['db1', 'web1', 'web2'],
        restricted: ['db1'],
        refusals: [{ node_name: 'db1', why: 'no_right', reason: 'you may not run commands there' }],
        uncertain: [],
        doubts: [],
      },
    ]);
    await server.auth.nodeGroups.remove(server.org, 'reserved', ME);
  });

  it('preview: its batches, with the sizes that the job would have', async () => {
    const batches = { batches: [1, '50%', 'rest'], batch_pause: 30 };
    const shown = await (await preview({ search: 'env:prod', ...batches })).json();
    expect(shown).toMatchObject({ count: 3, batches: [1, 2, 3], batch_pause: 30 });
  });
});

describe('EXECUTE on nodes (N13)', () => {
  beforeEach(() => group('granted', { nodes: ['web1'], users: ['grantee'] }));
  afterAll(() => server.auth.nodeGroups.remove(server.org, 'granted', ME));

  it('a node on which it is missing is nacked with the reason, and the job goes on without it', async () => {
    const id = await server.start({ command: 'x', nodes: ['open', 'web1'], quorum: 1 });
    expect(await nodesOf(id)).toEqual({ succeeded: ['open'], nacked: ['web1'] });
    const nodes = await (await server.send({ path: `jobs/${id}/nodes?status=nacked` })).json();
    expect(nodes).toMatchObject([{ node_name: 'web1', reason: 'permission denied' }]);
    expect((await audit()).map(({ action, outcome, target }) => [action, outcome, target])).toContainEqual([
      'push.execute',
      'denied',
      id,
    ]);
  });

  it('who holds it may start jobs, on those nodes only', async () => {
    const response = await post({ command: 'x', nodes: ['open', 'web1'], quorum: 1 }, 'grantee');
    expect(response.status).toBe(201);
    const { id } = (await response.json()) as { id: string };
    expect(await nodesOf(id)).toEqual({ succeeded: ['web1'], nacked: ['open'] });
  });

  it('with no permission at all POST is 403', async () => {
    expect((await post({ command: 'x', nodes: ['web1'] }, 'normal user')).status).toBe(403);
    expect((await preview({ nodes: ['web1'] }, 'normal user')).status).toBe(403);
  });

  it('who holds it may abort a job of those nodes, and no other', async () => {
    server.nodes.enter(server.org.id, 'web1', 'run');
    server.nodes.enter(server.org.id, 'open', 'run');
    const own = await server.start({ command: 'x', nodes: ['web1', 'open'], quorum: 1 });
    const abort = (id: string, as: Persona) => server.send({ method: 'PUT', path: `jobs/${id}/abort`, as });
    expect((await abort(own, 'grantee')).status).toBe(403);
    expect((await abort(own, 'normal user')).status).toBe(403);
    expect((await abort(own, 'admin user')).status).toBe(200);
    const posted = await post({ command: 'x', nodes: ['web1'] }, 'grantee');
    const { id } = (await posted.json()) as { id: string };
    expect((await abort(id, 'grantee')).status).toBe(200);
    expect(await server.finish(id)).toMatchObject({ status: 'aborted' });
  });
});

describe('audit', () => {
  it('tells who started and who aborted which job', async () => {
    const id = await server.start({ command: 'chef-client', nodes: ['open'] });
    await server.send({ method: 'PUT', path: `jobs/${id}/abort` });
    await server.send({ method: 'PUT', path: `jobs/${id}/abort` });
    await server.test.store.commit([]);
    const mine = (await audit()).filter(({ target }) => target === id);
    expect(mine).toMatchObject([
      { action: 'push.abort', actor: 'admin', outcome: 'done' },
      { action: 'push.start', actor: 'admin', outcome: 'done', detail: { command: 'chef-client', nodes: 1 } },
    ]);
  });
});

describe('organization policy (N16)', () => {
  it('of files it takes the release that a listed upgrade of agents names, and no others', async () => {
    const command = 'muster-agent-upgrade 1.2.3';
    const own = await startPushServer({ commands: { allow: [command] } });
    const ask = async (wanted: string, dest: string) => {
      const uploads = [{ sha256: 'a'.repeat(64), size: 1, mode: 0o644, dest }];
      const answer = await own.send({ method: 'POST', path: 'jobs', body: { command: wanted, uploads, nodes: ['A'] } });
      return JSON.stringify(await answer.json());
    };
    // It gets as far as that the file is not there.
    expect(await ask(command, '/muster-agent-upgrade/muster')).not.toContain('commands.allow');
    expect(await ask(command, '/etc/passwd')).toContain('lists commands, and takes no files');
    expect(await ask('muster-agent-upgrade 1.2.4', '/muster-agent-upgrade/muster')).toContain('does not list it');
    await own.close();
  });

  it('a command that is not listed is refused', async () => {
    const own = await startPushServer({ commands: { allow: ['chef-client'] } });
    const start = (command: string) => own.send({ method: 'POST', path: 'jobs', body: { command, nodes: ['A'] } });
    expect((await start('chef-client')).status).toBe(201);
    const refused = await start('rm -rf /');
    expect([refused.status, await refused.json()]).toEqual([
      400,
      { error: "invalid command: the server's policy (commands.allow) does not list it" },
    ]);
    await own.close();
  });
});
