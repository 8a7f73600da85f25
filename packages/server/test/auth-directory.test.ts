import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, type Personas, sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

let server: TestServer;
let personas: Personas;
let api: Client;
const public_key = sharedKey().publicKey;

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
  api = server.api;
});
afterAll(() => server.stop());

const ORG = '/organizations/default';

describe('organizations', () => {
  it('are created with a 32-hex id and an empty admins group', async () => {
    const created = await api.post('/organizations', { name: 'acme' });
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{32}$/),
      name: 'acme',
      created_at: expect.any(String),
    });
    expect((await api.get('/organizations/acme/groups')).body).toEqual([
      { name: 'admins', exclusive: false, users: [], clients: [], groups: [] },
    ]);
  });

  it('are created once per name', async () => {
    await api.post('/organizations', { name: 'twice' });
    const again = await api.post('/organizations', { name: 'twice' });
    expect(again.status).toBe(409);
    expect(again.body).toEqual({ error: "organization 'twice' already exists" });
  });

  it('have names of lower-case letters, digits, - and _', async () => {
    for (const name of ['Acme', '', '-x', 'a b', 'a/b']) {
      expect((await api.post('/organizations', { name })).status, name).toBe(400);
    }
  });

  it('are created and deleted by server administrators alone', async () => {
    const normal = api.as(personas.normal);
    expect((await normal.post('/organizations', { name: 'mine' })).status).toBe(403);
    expect((await normal.delete(ORG)).status).toBe(403);
  });

  it('are listed for their members', async () => {
    const names = async (client: Client) =>
      ((await client.get('/organizations')).body as { name: string }[]).map(({ name }) => name);
    expect(await names(api)).toContain('acme');
    expect(await names(api.as(personas.normal))).toEqual(['default']);
    expect(await names(api.as(personas.outside))).toEqual([]);
  });

  it('are deleted with what they hold, but not while nodes belong to them', async () => {
    await api.post('/organizations', { name: 'gone' });
    await api.post('/organizations/gone/nodes', { name: 'n1', public_key });
    const refused = await api.delete('/organizations/gone');
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("node 'n1' belongs to it");
    expect((await api.delete('/organizations/gone/nodes/n1')).status).toBeLessThan(300);
    expect((await api.delete('/organizations/gone')).status).toBe(204);
    expect((await api.get('/organizations/gone')).status).toBe(404);
  });

  it('admit only members: another organization’s user is not associated', async () => {
    const answer = await api.as(personas.normal).get('/organizations/acme/groups');
    expect(answer.body).toEqual({ error: ["'normal-user' is not associated with organization 'acme'"] });
  });

  it('a server administrator administers all of them but runs jobs only as a member', async () => {
    expect((await api.get('/organizations/acme/groups')).status).toBe(200);
    expect((await api.get('/organizations/acme/pushy/node_states')).status).toBe(403);
  });
});

describe('users', () => {
  it('are created by an organization’s admin as its members, with groups', async () => {
    await api.post('/users', { name: 'boss', public_key, organization: 'acme', groups: ['admins'] });
    const boss = api.as({ name: 'boss', privateKey: sharedKey().privateKey });
    const created = await boss.post('/users', { name: 'hand', public_key, groups: ['push_job_writers'] });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({ name: 'hand', server_admin: false, keys: [{ public_key }] });
    const group = await boss.get('/organizations/acme/groups/push_job_writers');
    expect(group.body).toMatchObject({ users: ['hand'] });
    const members = (await boss.get('/organizations/acme/users')).body as { name: string }[];
    expect(members.map(({ name }) => name)).toEqual(['boss', 'hand']);
  });

  it('an organization’s admin creates no server administrators and none elsewhere', async () => {
    const boss = api.as({ name: 'boss', privateKey: sharedKey().privateKey });
    for (const more of [{ server_admin: true }, { organization: 'default' }, { organization: null }]) {
      expect((await boss.post('/users', { name: 'sneaky', public_key, ...more })).status).toBe(403);
    }
    expect((await api.get('/users/sneaky')).status).toBe(404);
  });

  it('who are no admins create nobody', async () => {
    expect((await api.as(personas.normal).post('/users', { name: 'friend', public_key })).status).toBe(403);
  });

  it('see themselves, not others', async () => {
    expect((await api.as(personas.normal).get('/users/normal-user')).status).toBe(200);
    expect((await api.as(personas.normal).get('/users/admin')).status).toBe(403);
  });

  it('exist once per name', async () => {
    expect((await api.post('/users', { name: 'normal-user', public_key })).status).toBe(409);
  });

  it.each([
    ['not PEM', 'hello'],
    ['a private key', sharedKey().privateKey],
  ])('are not created with %s', async (_what, pem) => {
    const answer = await api.post('/users', { name: 'keyless', public_key: pem });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('invalid public_key');
  });

  it('lose their memberships, groups and access when deleted; the next of the name inherits nothing', async () => {
    await api.post('/users', { name: 'leaver', public_key, organization: 'default', groups: ['push_job_readers'] });
    expect((await api.delete('/users/leaver')).status).toBe(204);
    const leaver = api.as({ name: 'leaver', privateKey: sharedKey().privateKey });
    expect((await leaver.get(`${ORG}/groups`)).status).toBe(401);
    expect((await api.get(`${ORG}/groups/push_job_readers`)).body).toMatchObject({ users: [] });
    await api.delete(`${ORG}/groups/push_job_readers`);
  });

  it('the last server administrator stays', async () => {
    const answer = await api.delete('/users/admin');
    expect(answer.status).toBe(409);
    expect(answer.text).toContain('last server administrator');
  });

  it('the last key stays', async () => {
    const { keys } = (await api.get('/users/normal-user')).body as { keys: { fingerprint: string }[] };
    const answer = await api.delete(`/users/normal-user/keys/${keys[0]?.fingerprint}`);
    expect(answer.status).toBe(409);
  });

  it('join and leave organizations; leaving takes their groups away', async () => {
    const outside = api.as(personas.outside);
    expect((await api.post(`${ORG}/users/outside-user`)).status).toBe(204);
    expect((await outside.get(`${ORG}/groups`)).status).toBe(200);
    await api.put(`${ORG}/groups/crew`, { users: ['outside-user'] });
    expect((await api.delete(`${ORG}/users/outside-user`)).status).toBe(204);
    expect((await outside.get(`${ORG}/groups`)).status).toBe(403);
    expect((await api.get(`${ORG}/groups/crew`)).body).toMatchObject({ users: [] });
  });
});

describe('services and nodes', () => {
  it('share one space of names, so that no node takes over a service’s groups', async () => {
    expect((await api.post(`${ORG}/services`, { name: 'deployer', public_key })).status).toBe(201);
    const answer = await api.post(`${ORG}/nodes`, { name: 'deployer', public_key });
    expect(answer.status).toBe(409);
    expect(answer.body).toEqual({ error: "service 'deployer' already exists" });
  });

  it('a service signs requests in its organization', async () => {
    const service = api.as({ name: 'deployer', privateKey: sharedKey().privateKey });
    expect((await service.get(`${ORG}/pushy/node_states`)).status).toBe(200);
    expect(((await api.get(`${ORG}/services`)).body as unknown[]).length).toBe(1);
    expect((await api.delete(`${ORG}/services/deployer`)).status).toBe(204);
    expect((await service.get(`${ORG}/pushy/node_states`)).status).toBe(401);
  });

  it('a node that was created is known, and down', async () => {
    await api.post(`${ORG}/nodes`, { name: 'quiet', public_key });
    const state = await api.get(`${ORG}/pushy/node_states/quiet`);
    expect(state.body).toMatchObject({ node_name: 'quiet', status: 'down', availability: 'unavailable' });
  });
});

describe('groups', () => {
  it('are replaced as a whole and keep nothing twice', async () => {
    await api.put(`${ORG}/groups/ops`, { users: ['a', 'a', 'b'], clients: ['n1'], groups: ['oncall'] });
    const second = await api.put(`${ORG}/groups/ops`, { users: ['c'] });
    expect(second.body).toMatchObject({ name: 'ops', users: ['c'], clients: [], groups: [] });
  });

  it('take names that nobody has, and say which (sheet §7.3)', async () => {
    await api.put(`${ORG}/groups/crew`, {});
    const members = {
      users: ['nobody', 'admin', 'outside-user'],
      clients: ['quiet', 'admin'],
      groups: ['crew', 'none', 'pushy_job_readers'],
    };
    const unknown = { users: ['nobody', 'outside-user'], clients: ['admin'], groups: ['none', 'push_job_readers'] };
    expect((await api.put(`${ORG}/groups/ops`, members)).body).toMatchObject({ unknown });
    const grant = await api.put(`${ORG}/events/access/publish/temp.*`, members);
    expect(grant.body).toMatchObject({ unknown });
    await api.delete(`${ORG}/events/access/publish/temp.*`);
  });

  it('N14: the deployed spelling names the same group', async () => {
    await api.put(`${ORG}/groups/pushy_job_writers`, { users: ['admin'] });
    expect((await api.get(`${ORG}/groups/push_job_writers`)).body).toMatchObject({ users: ['admin'] });
    expect((await api.delete(`${ORG}/groups/pushy_job_writers`)).status).toBe(204);
    expect((await api.get(`${ORG}/groups/push_job_writers`)).status).toBe(404);
  });

  it('are changed by admins alone', async () => {
    expect((await api.as(personas.normal).put(`${ORG}/groups/ops`, {})).status).toBe(403);
    expect((await api.as(personas.adminClient).put(`${ORG}/groups/ops`, {})).status).toBe(200);
  });

  it('have names without spaces and slashes', async () => {
    expect((await api.put(`${ORG}/groups/a%20b`, {})).status).toBe(400);
  });
});

describe('node groups', () => {
  it('are listed or selected, never both', async () => {
    const listed = await api.put(`${ORG}/node_groups/canaries`, { nodes: ['web1', 'web2'] });
    expect(listed.body).toEqual({
      name: 'canaries',
      nodes: ['web1', 'web2'],
      query: null,
      execute: { users: [], clients: [], groups: [] },
      unknown: { users: [], clients: [], groups: [] },
    });
    const selected = await api.put(`${ORG}/node_groups/canaries`, { query: 'role:web', execute: { groups: ['ops'] } });
    expect(selected.body).toMatchObject({ nodes: null, query: 'role:web', execute: { groups: ['ops'] } });
    const execute = { users: ['normal-user', 'typo-user'], clients: ['ic'] };
    const misspelt = await api.put(`${ORG}/node_groups/canaries`, { query: 'role:web', execute });
    expect(misspelt.body).toMatchObject({ unknown: { users: ['typo-user'], clients: ['ic'], groups: [] } });
    expect((await api.put(`${ORG}/node_groups/canaries`, { nodes: [], query: 'a:b' })).status).toBe(400);
    expect((await api.put(`${ORG}/node_groups/canaries`, {})).status).toBe(400);
  });

  it('a selector that cannot be read is refused with its place', async () => {
    const answer = await api.put(`${ORG}/node_groups/broken`, { query: 'role = ' });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain('invalid search at character');
  });

  it('are deleted', async () => {
    expect((await api.delete(`${ORG}/node_groups/canaries`)).status).toBe(204);
    expect((await api.get(`${ORG}/node_groups/canaries`)).status).toBe(404);
  });
});

describe('EXECUTE over REST (N13)', () => {
  const start = (client: Client, nodes: readonly string[]) =>
    client.post(`${ORG}/pushy/jobs`, { command: 'uptime', nodes });
  const nodesOf = async (answer: { body: unknown }) => {
    const { id } = answer.body as { id: string };
    return ((await api.get(`${ORG}/pushy/jobs/${id}`)).body as { nodes: Record<string, string[]> }).nodes;
  };

  it('a grant lets somebody start jobs on the group’s nodes; others are nacked', async () => {
    const normal = api.as(personas.normal);
    expect((await start(normal, ['db1'])).status).toBe(403);
    await api.put(`${ORG}/node_groups/db`, { nodes: ['db1'], execute: { users: ['normal-user'] } });
    const started = await start(normal, ['db1', 'web1']);
    expect(started.status).toBe(201);
    expect((await nodesOf(started)).nacked).toEqual(['web1']);
    await api.delete(`${ORG}/node_groups/db`);
    expect((await start(normal, ['db1'])).status).toBe(403);
  });

  it('a node that was restricted is nacked for an admin without a grant', async () => {
    await api.put(`${ORG}/node_groups/db`, { nodes: ['db1'], execute: { users: ['normal-user'] } });
    const started = await start(api, ['db1', 'web1']);
    expect((await nodesOf(started)).nacked).toEqual(['db1']);
    await api.delete(`${ORG}/node_groups/db`);
  });
});

describe('a key that was taken away', () => {
  it('signs no more, at once', async () => {
    const pair = newKey();
    await api.post('/users', { name: 'rotating', public_key, organization: 'default' });
    const added = await api.post('/users/rotating/keys', { public_key: pair.publicKey });
    const client = api.as({ name: 'rotating', privateKey: pair.privateKey });
    expect((await client.get(`${ORG}/groups`)).status).toBe(200);
    await api.delete(`/users/rotating/keys/${(added.body as { fingerprint: string }).fingerprint}`);
    expect((await client.get(`${ORG}/groups`)).status).toBe(401);
  });
});

describe('roles', () => {
  const put = (name: string, body: object) => api.put(`${ORG}/groups/${name}`, body);
  const jobs = `${ORG}/pushy/jobs`;

  it('that are new leave admins what they could: the first one locks nobody out', async () => {
    await put('push_job_readers', { users: ['normal-user'] });
    expect((await api.get(`${ORG}/nodes`)).status).toBe(200);
    await put('push_job_readers', { users: ['normal-user'], exclusive: true });
    expect((await api.get(`${ORG}/nodes`)).status).toBe(403);
    // Of whether it is, nothing is said: it stays so.
    expect((await put('push_job_readers', { users: ['normal-user'] })).body).toMatchObject({ exclusive: true });
    await api.delete(`${ORG}/groups/push_job_readers`);
  });

  it('that are denied are named', async () => {
    const denied = await api.as(personas.normal).post(jobs, { command: 'sleep 1', nodes: ['n'] });
    expect(denied.status).toBe(403);
    for (const name of ['push:execute', 'push_job_writers', 'admins', 'node group']) {
      expect(denied.headers.get('x-muster-fix')).toContain(name);
    }
  });

  it('a writer who may not read looks at the job it started, and at no other', async () => {
    await put('push_job_readers', { users: [] });
    await put('push_job_writers', { users: ['normal-user'] });
    const writer = api.as(personas.normal);
    const start = async (as: typeof api) =>
      ((await as.post(jobs, { command: 'sleep 1', nodes: ['n'] })).body as { id: string }).id;
    const own = await start(writer);
    const others = await start(api);
    for (const path of [`jobs/${own}`, `jobs/${own}/nodes`, `job_status_feed/${own}`]) {
      const answer = await writer.get(`${ORG}/pushy/${path}`, { accept: '*/*' });
      expect([path, answer.status]).toEqual([path, 200]);
    }
    const listed = ((await writer.get(jobs)).body as { id: string }[]).map(({ id }) => id);
    expect([listed.includes(own), listed.includes(others)]).toEqual([true, false]);
    for (const path of [`jobs/${others}`, `job_status_feed/${others}`, 'job_status_feed']) {
      const answer = await writer.get(`${ORG}/pushy/${path}`, { accept: '*/*' });
      expect([path, answer.status]).toEqual([path, 403]);
    }
    for (const role of ['push_job_readers', 'push_job_writers']) await api.delete(`${ORG}/groups/${role}`);
  });

  it('that are nearly named are asked about, and made when that was meant', async () => {
    const refused = await put('push_job_writer', { users: ['normal-user'] });
    expect([refused.status, refused.headers.get('x-muster-error')]).toEqual([400, 'group_name_unlikely']);
    expect(refused.body).toEqual({ error: "no role is called 'push_job_writer': did you mean 'push_job_writers'?" });
    expect((await put('push_job_writer?force=true', { users: [] })).status).toBe(200);
    // It is there now, and may be changed.
    expect((await put('push_job_writer', { users: ['normal-user'] })).status).toBe(200);
    await api.delete(`${ORG}/groups/push_job_writer`);
    const user = { name: 'typo', public_key, organization: 'default', groups: ['push_job_reader'] };
    expect((await api.post('/users', user)).status).toBe(400);
  });
});
