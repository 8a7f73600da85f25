import { afterEach, beforeEach, expect, test } from 'vitest';
import { run } from '../src/run.js';
import { type ApiServer, apiServer, json } from './support/api-server.js';
import { testWorld } from './support/world.js';

/** Nodes as a table, as comma-separated values, and as an inventory of Ansible. */

const node = (name: string, facts: object, labels: object, status = 'up') => ({
  node_name: name,
  status,
  availability: status === 'up' ? 'available' : 'unavailable',
  owner_since: 'Sun, 16 Sep 2012 12:00:00 GMT',
  reason: 'idle',
  dialect: 'native',
  incarnation: null,
  last_end: null,
  facts,
  labels,
});
const NODES = [
  node('db1', { ip: '10.0.0.9', memory: 4, kernel: '6.1, "lts"' }, { role: 'db' }, 'down'),
  node('web1', { ip: '10.0.0.1', memory: 16 }, { role: 'web', env: 'prod-eu' }),
  node('web2', { ip: '10.0.0.2', memory: 8 }, { role: 'web' }),
];

let server: ApiServer;
beforeEach(async () => {
  server = await apiServer({
    // As the server selects: the tests ask for nodes that begin so.
    'GET /organizations/o/nodes': (request, response) => {
      const q = request.query.get('q') ?? '';
      const nodes = NODES.filter(({ node_name: name }) => name.startsWith(q));
      json({ total: nodes.length, nodes })(request, response);
    },
    'GET /organizations/o/nodes/web1': json(NODES[1]),
    'GET /organizations/o/node_groups': json([
      { name: 'canaries', nodes: ['web1', 'gone'], query: null },
      { name: 'all-web', query: 'web' },
    ]),
  });
});
afterEach(() => server.close());

async function muster(...words: string[]): Promise<string> {
  const { out, err } = await told(...words);
  expect(err).toBe('');
  return out;
}
async function told(...words: string[]): Promise<{ readonly out: string; readonly err: string }> {
  const world = testWorld({ env: { MUSTER_URL: server.url, MUSTER_ORG: 'o', MUSTER_TOKEN: 'T', NO_COLOR: '1' } });
  expect(await run(words, world)).toBe(0);
  return { out: world.out(), err: world.err() };
}

test('nodes are shown with the facts and labels that are asked for, in the order that is', async () => {
  const lines = (await muster('node', 'list', '--columns', 'name,role,memory', '--sort', 'role,-memory')).split('\n');
  expect(lines.slice(0, 4)).toEqual(['name  role  memory', 'db1   db    4', 'web1  web   16', 'web2  web   8']);
  const sorted = await muster('node', 'list', 'web', '--sort', 'env', '--columns', 'name');
  expect(sorted.split('\n').slice(1, 3)).toEqual(['web1', 'web2']);
});

test('without columns of its own a selection is shown as all nodes are', async () => {
  const heading = /^Node name +Status +Availability +Since +Reason\n/;
  expect(await muster('node', 'list', 'web')).toMatch(heading);
  expect(await muster('node', 'list', '--sort', '-memory')).toMatch(heading);
  expect(await muster('node', 'list', '--csv')).toMatch(/^name,status,availability,since,via,reason\r\n/);
});

test('a column that no node has is told of, and what some have is not', async () => {
  const { out, err } = await told('node', 'list', '--columns', 'name,kernel,labels,nonsense');
  expect(out.split('\n')[0]).toBe('name  kernel      labels  nonsense');
  expect(err).toBe(
    'no node that is listed has labels, nonsense: `muster node show NAME` tells the facts and labels of one\n',
  );
});

test('as comma-separated values what needs quotes has them', async () => {
  const text = await muster('node', 'list', '--csv', '--columns', 'name,kernel,env');
  expect(text).toBe('name,kernel,env\r\ndb1,"6.1, ""lts""",\r\nweb1,,prod-eu\r\nweb2,,\r\n');
});

test('Ansible gets node groups, states and labels as groups, facts and labels as variables', async () => {
  const inventory = JSON.parse(await muster('inventory', '--list'));
  expect(inventory).toEqual({
    up: { hosts: ['web1', 'web2'] },
    available: { hosts: ['web1', 'web2'] },
    down: { hosts: ['db1'] },
    unavailable: { hosts: ['db1'] },
    role_db: { hosts: ['db1'] },
    role_web: { hosts: ['web1', 'web2'] },
    env_prod_eu: { hosts: ['web1'] },
    canaries: { hosts: ['web1'] },
    all_web: { hosts: ['web1', 'web2'] },
    _meta: { hostvars: { db1: expect.anything(), web2: expect.anything(), web1: expect.anything() } },
  });
  const web1 = {
    ansible_host: '10.0.0.1',
    muster_ip: '10.0.0.1',
    muster_memory: 16,
    muster_role: 'web',
    muster_env: 'prod-eu',
  };
  expect(inventory._meta.hostvars.web1).toEqual(web1);
  expect(JSON.parse(await muster('inventory', '--host', 'web1'))).toEqual(web1);
});

test('Ansible is told where the server logs in on nodes without an agent, and as whom', async () => {
  await server.close();
  const box = { ...node('box1', {}, { role: 'box' }), via: 'ssh' };
  const place = { node_name: 'box1', host: 'box1.example.com', port: 2222, user: 'ops' };
  server = await apiServer({
    'GET /organizations/o/nodes': json({ total: 2, nodes: [box, NODES[1]] }),
    'GET /organizations/o/nodes/box1': json(box),
    'GET /organizations/o/node_groups': json([]),
    'GET /organizations/o/ssh-nodes': json([place]),
    'GET /organizations/o/ssh-nodes/box1': json(place),
  });
  const variables = {
    ...{ ansible_host: 'box1.example.com', ansible_port: 2222, ansible_user: 'ops' },
    muster_role: 'box',
  };
  expect(JSON.parse(await muster('inventory', '--host', 'box1'))).toEqual(variables);
  const { hostvars } = JSON.parse(await muster('inventory', '--ansible'))._meta;
  expect(hostvars.box1).toEqual(variables);
  expect(hostvars.web1).not.toHaveProperty('ansible_user');
});

test('what a node says of itself becomes neither a template that Ansible runs nor an option of ssh', async () => {
  await server.close();
  const hostile = node(
    'evil1',
    { ip: '-oProxyCommand=id', note: "{{ lookup('pipe', 'id') }}", list: ['{% x %}', 'y'] },
    {},
  );
  server = await apiServer({ 'GET /organizations/o/nodes/evil1': json(hostile) });
  expect(JSON.parse(await muster('inventory', '--host', 'evil1'))).toEqual({
    muster_ip: '-oProxyCommand=id',
    muster_note: { __ansible_unsafe: "{{ lookup('pipe', 'id') }}" },
    muster_list: [{ __ansible_unsafe: '{% x %}' }, 'y'],
  });
});
