import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

let server: TestServer;
let api: Client;
const ORG = '/organizations/default';
const public_key = sharedKey().publicKey;

beforeAll(async () => {
  server = await startTestServer();
  api = server.api;
  for (const name of ['alice', 'bob', 'carol']) await api.post('/users', { name, public_key, organization: 'default' });
  await api.post(`${ORG}/services`, { name: 'ci', public_key });
  for (const name of ['web1', 'db1']) await api.post(`${ORG}/nodes`, { name, public_key });
  await api.put(`${ORG}/groups/dba`, { users: ['bob'] });
  await api.put(`${ORG}/groups/push_job_writers`, { users: ['alice'], groups: ['oncall'] });
  await api.put(`${ORG}/groups/oncall`, { users: ['alice'], clients: ['ci'] });
  await api.put(`${ORG}/node_groups/prod-db`, { nodes: ['db1'], execute: { users: ['carol'], groups: ['dba'] } });
});
afterAll(() => server.stop());

interface Person {
  readonly name: string;
  readonly groups: readonly string[];
  readonly node_groups: readonly string[];
  readonly permissions: readonly { readonly permission: string; readonly by: readonly unknown[] }[];
}
const person = async (name: string): Promise<Person> =>
  ((await api.get(`${ORG}/access?name=${name}`)).body as readonly Person[])[0] as Person;
const by = async (name: string, permission: string) =>
  (await person(name)).permissions.find((each) => each.permission === permission)?.by;

describe('who may do what', () => {
  it('is said of each with what gives it, and each of several that do', async () => {
    const group = (name: string) => ({ kind: 'group', name });
    expect(await by('alice', 'push:write')).toEqual([group('oncall'), group('push_job_writers')]);
    expect(await by('ci', 'push:write')).toEqual([group('oncall')]);
    expect(await by('bob', 'push:write')).toBeUndefined();
    expect(await by('bob', 'push:execute')).toEqual([group('dba')]);
    expect(await by('carol', 'push:execute')).toEqual([{ kind: 'node_group', name: 'prod-db' }]);
    expect(await by('bob', 'push:read')).toEqual([{ kind: 'member', name: null }]);
    expect(await by('admin', 'server:admin')).toEqual([{ kind: 'server_admin', name: null }]);
    expect(await person('bob')).toMatchObject({ groups: ['dba'], node_groups: ['prod-db'] });
  });

  it('is what the gate lets each do', async () => {
    const all = (await api.get(`${ORG}/access`)).body as Person[];
    expect(all.map(({ name }) => name)).toEqual(['admin', 'alice', 'bob', 'carol', 'ci']);
    for (const { name, permissions } of all.filter((each) => each.name !== 'ci' && each.name !== 'admin')) {
      const client = api.as({ name, privateKey: sharedKey().privateKey });
      const mayLookAtAudit = permissions.some(({ permission }) => permission === 'org:admin');
      expect((await client.get(`${ORG}/audit`)).status, name).toBe(mayLookAtAudit ? 200 : 403);
    }
  });

  it('is for admins to see', async () => {
    const bob = api.as({ name: 'bob', privateKey: sharedKey().privateKey });
    expect((await bob.get(`${ORG}/access`)).status).toBe(403);
    expect((await bob.get(`${ORG}/nodes/db1/who`)).status).toBe(403);
  });
});

describe('who may run commands on a node', () => {
  const verdicts = async (node: string) => {
    const { principals } = (await api.get(`${ORG}/nodes/${node}/who`)).body as {
      principals: { name: string; may: boolean; why: string }[];
    };
    return new Map(principals.map(({ name, may, why }) => [name, { may, why }]));
  };

  it('is said in a sentence, by grants where a node group has some', async () => {
    const found = await verdicts('db1');
    expect(found.get('alice')).toEqual({
      may: false,
      why: 'alice may not run commands on db1: commands on it are for those who have a grant on the node group prod-db.',
    });
    expect(found.get('bob')).toEqual({
      may: true,
      why: 'bob may run commands on db1: by a grant on the node group prod-db.',
    });
  });

  it('is said by push:write where none has', async () => {
    const found = await verdicts('web1');
    expect(found.get('alice')?.may).toBe(true);
    expect(found.get('bob')).toEqual({
      may: false,
      why: 'bob may not run commands on web1: push:write is missing, and no node group with grants has the node.',
    });
  });

  it('is what a preview of a push job says', async () => {
    for (const node of ['web1', 'db1']) {
      for (const [name, { may }] of await verdicts(node)) {
        if (name === 'ci' || name === 'admin') continue;
        const client = api.as({ name, privateKey: sharedKey().privateKey });
        const answer = await client.post(`${ORG}/pushy/jobs/preview`, { nodes: [node] });
        const restricted = answer.status === 403 ? [node] : (answer.body as { restricted: string[] }).restricted;
        expect(restricted.includes(node), `${name} on ${node}`).toBe(!may);
      }
    }
  });

  it('is not said of a node that there is not', async () => {
    expect((await api.get(`${ORG}/nodes/none/who`)).status).toBe(404);
  });
});
