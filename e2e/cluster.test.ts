import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Cluster } from './support/cluster.js';
import { HeldCommand } from './support/held-command.js';
import { type Balancer, Behind, type Members, said, threeServers } from './support/members.js';
import { newKey } from './support/personas.js';
import { until } from './support/until.js';

/**
 * Several servers over one PostgreSQL, behind a balancer that knows nothing of them: one leads, and others take over. With default lease times.
 */

let cluster: Cluster;
let members: Members;
let balancer: Balancer;
let database: string;

interface Status {
  readonly leader: string;
  readonly epoch: number;
  readonly servers: readonly {
    readonly name: string;
    readonly role: string;
    readonly drained: boolean;
    readonly nodes: number | null;
  }[];
}
const status = (): Promise<Status> => cluster.json('cluster', 'status');

beforeAll(async () => {
  ({ cluster, members, balancer, database } = await threeServers());
  const commands = { quick: 'true', held: new HeldCommand(cluster.dir, 'held').entry };
  await cluster.startAgents({ n1: { commands }, n2: { commands } });
  await until('three servers', async () => (await status()).servers.length === 3);
});
beforeEach(() => members.supervise());
afterAll(async () => {
  balancer.close();
  await members.close();
});

const ranOnce = async (id: string, held: HeldCommand): Promise<void> => {
  held.release();
  await cluster.jobIs(id, 'complete');
  expect(held.runs).toEqual(['n1', 'n2']);
  held.reset();
};

test('every server answers as the one that leads, by passing on to it', async () => {
  const leader = await members.leader();
  const { servers } = await status();
  expect(servers.map(({ name, role }) => [name, role])).toEqual(
    ['a', 'b', 'c'].map((name) => [name, name === leader.name ? 'leader' : 'follower']),
  );
  const told = await cluster.muster('cluster', 'status');
  expect(told.stderr).toMatch(/epoch \d+, lease renewed \d s ago; the database answers in [\d.]+ ms/);
  expect(told.stderr).toMatch(/\d nodes up; 0 push jobs run; 0 tasks wait, 0 run/);
  const { text } = await cluster.api.call('GET', '/metrics', { accept: 'text/plain' });
  expect(text).toContain('muster_cluster_servers{state="up"} 3');
  // Each takes connections of nodes, once the leader has a link with it.
  await until('places for nodes everywhere', async () => (await status()).servers.every(({ nodes }) => nodes !== null));
  for (const { url } of members.all) {
    const through = new Behind(url, cluster.dataDir);
    const id = await through.startJob({ command: 'quick', nodes: ['n1', 'n2'] });
    await through.jobIs(id, 'complete');
  }
});

test('nodes are spread over the servers, and a follower that is killed loses none of them', async () => {
  const { leader, servers } = await status();
  expect(servers.map(({ nodes }) => nodes).sort()).toEqual([0, 1, 1]);
  const held = new HeldCommand(cluster.dir, 'held');
  const id = await cluster.startJob({ command: 'held', nodes: ['n1', 'n2'] });
  await until('both to run', async () => held.runs.length === 2);
  const follower = servers.find(({ name, nodes }) => name !== leader && nodes === 1)?.name ?? '';
  await members.named(follower).process.kill('SIGKILL');
  await until('its node to be elsewhere', async () => {
    const left = (await status()).servers.filter(({ name }) => name !== follower);
    return left.reduce((sum, { nodes }) => sum + (nodes ?? 0), 0) === 2;
  });
  await ranOnce(id, held);
  members.again(follower);
  await until(`${follower} to follow`, async () => (await said(members.named(follower).url))?.leader === leader);
});

test('nodes of a server that is drained move to the others while they work, and it can be gone then', async () => {
  const { leader } = await status();
  const placesOf = async (): Promise<Readonly<Record<string, number | null>>> =>
    Object.fromEntries((await status()).servers.map(({ name, nodes }) => [name, nodes]));
  await until('both nodes to have a place', async () => {
    const places = Object.values(await placesOf());
    return (
      places.every((nodes) => nodes !== null) && places.reduce((sum: number, nodes) => sum + (nodes ?? 0), 0) === 2
    );
  });
  const [follower = ''] =
    Object.entries(await placesOf()).find(([name, nodes]) => name !== leader && nodes !== 0) ?? [];
  const held = new HeldCommand(cluster.dir, 'held');
  const id = await cluster.startJob({ command: 'held', nodes: ['n1', 'n2'] });
  await until('both to run', async () => held.runs.length === 2);
  expect((await cluster.muster('cluster', 'drain', follower)).code).toBe(0);
  await until('its nodes to be elsewhere', async () => (await placesOf())[follower] === 0);
  await ranOnce(id, held);
  members.named(follower).process.signal('SIGSTOP');
  const after = await cluster.startJob({ command: 'quick', nodes: ['n1', 'n2'] });
  await cluster.jobIs(after, 'complete');
  members.named(follower).process.signal('SIGCONT');
  expect((await cluster.muster('cluster', 'undrain', follower)).code).toBe(0);
});

test('a key that is revoked over one server is refused by all of them from then on', async () => {
  const { publicKey, privateKey } = newKey();
  const user = { name: 'leaver', privateKey };
  const through = members.all.map(({ url }) => new Behind(url, cluster.dataDir).api);
  const statuses = () => Promise.all(through.map(async (api) => (await api.as(user).get('pushy/node_states')).status));
  expect(
    (await cluster.api.call('POST', '/users', { body: { name: user.name, public_key: newKey().publicKey } })).status,
  ).toBe(201);
  for (const by of through) {
    const key = await by.call('POST', `/users/${user.name}/keys`, { body: { public_key: publicKey } });
    expect(key.status).toBe(201);
    const { fingerprint } = key.json as { readonly fingerprint: string };
    expect(await statuses()).toEqual([200, 200, 200]);
    expect((await by.call('DELETE', `/users/${user.name}/keys/${fingerprint}`)).status).toBe(204);
    expect(await statuses()).toEqual([401, 401, 401]);
  }
});

test('the server that leads is killed with -9: another takes over, and what ran goes on and is run once', async () => {
  const held = new HeldCommand(cluster.dir, 'held');
  const before = await members.leader();
  const id = await cluster.startJob({ command: 'held', nodes: ['n1', 'n2'] });
  await until('both to run', async () => held.runs.length === 2);
  const killed = Date.now();
  await before.process.kill('SIGKILL');
  const after = await members.leader(before.name);
  const took = Date.now() - killed;
  await cluster.available().catch(() => undefined);
  await ranOnce(id, held);
  process.stdout.write(`${JSON.stringify({ took_over_ms: took, job_ended_ms: Date.now() - killed })}\n`);
  expect((await status()).leader).toBe(after.name);
  const told = async (action: string) =>
    (await cluster.json<{ target: string }[]>('audit', '--of-server', '--action', action)).map(({ target }) => target);
  await until('the audit to have that', async () => (await told('cluster.lost')).includes(before.name));
  expect(await told('cluster.lead')).toContain(after.name);
  const lost = (await status()).servers.find(({ name }) => name === before.name);
  expect(lost).toMatchObject({ role: 'lost', nodes: null });
  members.again(before.name);
  await until(`${before.name} to follow`, async () => (await said(before.url))?.leader === after.name);
});

test('one that is frozen for longer than its lease is deposed: it stores nothing any more, ends, and follows when it is started again', async () => {
  const before = await members.leader();
  const epoch = (await said(before.url))?.epoch ?? 0;
  before.process.signal('SIGSTOP');
  const after = await members.leader(before.name);
  expect((await said(after.url))?.epoch).toBeGreaterThan(epoch);
  await cluster.available('n1', 'n2');
  const id = await cluster.startJob({ command: 'quick', nodes: ['n1', 'n2'] });
  await cluster.jobIs(id, 'complete');
  // It lies in its socket, and is read by a server that still believes that it leads.
  const order = { command: 'held', nodes: ['n1', 'n2'] };
  const late = new Behind(before.url, cluster.dataDir).api.post('pushy/jobs', order).then(
    (reply) => reply.status,
    () => 0,
  );
  before.process.signal('SIGCONT');
  expect(await late).not.toBe(201);
  const { code } = await before.process.exited;
  expect(code).not.toBe(0);
  expect(before.process.log).toContain('another server of the cluster has taken over');
  expect(new HeldCommand(cluster.dir, 'held').runs).toEqual([]);
  members.again(before.name);
  await until(`${before.name} to follow`, async () => (await said(before.url))?.role === 'follower');
});

test('a drained server gives up the lead in order, goes on following, and never leads until it is undrained', async () => {
  const before = await members.leader();
  const held = new HeldCommand(cluster.dir, 'held');
  const id = await cluster.startJob({ command: 'held', nodes: ['n1', 'n2'] });
  await until('both to run', async () => held.runs.length === 2);
  expect((await cluster.muster('cluster', 'drain', before.name)).code).toBe(0);
  const after = await members.leader(before.name);
  expect(after.name).not.toBe(before.name);
  await until(`${before.name} to follow`, async () => (await said(before.url))?.role === 'follower');
  expect(before.process.exit).toBe(null);
  await cluster.available().catch(() => undefined);
  await ranOnce(id, held);
  const drained = async () => (await status()).servers.filter((one) => one.drained).map(({ name }) => name);
  expect(await drained()).toEqual([before.name]);
  const third = members.all.map(({ name }) => name).find((name) => name !== before.name && name !== after.name) ?? '';
  await cluster.muster('cluster', 'drain', third);
  const last = await cluster.muster('cluster', 'drain', after.name);
  expect([last.code, last.stderr]).toEqual([2, expect.stringContaining('no other server of the cluster could lead')]);
  for (const name of [before.name, third]) await cluster.muster('cluster', 'undrain', name);
  expect(await drained()).toEqual([]);
});

test('whoever follows events goes on where they were when another server leads', async () => {
  const watch = (selector: string, name: string) =>
    cluster.launch(`a watch of ${selector}`, ['event', 'watch', selector, '--durable', name, '--json']);
  const watching = watch("type = 'tick'", 'w');
  const servers = watch("type LIKE 'auth.cluster.%'", 'c');
  const publish = async (n: number): Promise<void> => {
    await until(`event ${n} to be published`, async () => {
      return (await cluster.muster('event', 'publish', 'tick', '--attr', `n=${n}`)).code === 0;
    });
  };
  for (const each of [watching, servers]) await until('the watch', async () => each.stderr.includes('watching'));
  await publish(1);
  await until('the first', async () => watching.stdout.includes('"n"'));
  const before = await members.leader();
  await before.process.kill('SIGKILL');
  await members.leader(before.name);
  await publish(2);
  await publish(3);
  const seen = (): number[] => [...watching.stdout.matchAll(/"n":"?(\d)/g)].map(([, n]) => Number(n));
  await until('the others', async () => seen().length >= 3);
  expect(seen()).toEqual([1, 2, 3]);
  await until('the loss to be told', async () => servers.stdout.includes('auth.cluster.lost'));
  expect(servers.stdout.indexOf('auth.cluster.lead')).toBeLessThan(servers.stdout.indexOf('auth.cluster.lost'));
  for (const each of [watching, servers]) await each.kill('SIGINT');
  members.again(before.name);
  await until(`${before.name} to answer`, async () => (await said(before.url)) !== null);
});

test('a server with another key for secrets, and one that is alone, are kept off', async () => {
  const stranger = await members.add('stranger', { keyless: true });
  members.all.pop();
  expect((await stranger.process.exited).code).not.toBe(0);
  expect(stranger.process.log).toContain('another key for secrets');
  const dir = join(cluster.dir, 'alone');
  const alone = cluster.launch('a server that is alone', ['server', '--data-dir', dir, '--database-url', database], {
    MUSTER_CONFIG: undefined,
  });
  expect((await alone.exited).code).not.toBe(0);
  expect(alone.log).toContain('another muster server is running on this database');
});
