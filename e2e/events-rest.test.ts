import { header } from '@muster/fabric';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EventClient } from '../packages/platform/test/support/event-client.js';
import { Cluster } from './support/cluster.js';
import { until } from './support/until.js';

let cluster: Cluster;
let token: string;
const open: EventClient[] = [];

beforeAll(async () => {
  cluster = await Cluster.start();
  token = (await cluster.json<{ token: string }>('access-token', 'create')).token;
});
afterEach(async () => {
  for (const client of open.splice(0)) await client.close();
});
afterAll(() => cluster.stop());

async function connect(): Promise<EventClient> {
  const client = await EventClient.login(`stomp://127.0.0.1:${cluster.ports[3]}`, 'default/admin', token);
  open.push(client);
  return client;
}

interface Scheduled {
  readonly id: string;
  readonly type: string;
}
const scheduled = () => cluster.json<Scheduled[]>('event', 'scheduled', 'list');
const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

async function later(type: string, at: string): Promise<string> {
  const receipt = await (await connect()).publish(type, [
    ['at', at],
    ['celsius', '81'],
  ]);
  return header(receipt, 'scheduled') ?? '';
}

describe('future events', () => {
  test('that were accepted survive kill -9; those that fell due meanwhile come at once, in order, and each once', async () => {
    const far = await later('far', inMs(3_600_000));
    const dueMs = Date.now() + 4000;
    const due = (ms: number) => new Date(ms).toISOString();
    await later('second', due(dueMs));
    await later('third', due(dueMs));
    await later('first', due(dueMs - 1));
    await cluster.killServer('SIGKILL');
    await until('all to be late', () => Date.now() > dueMs);
    await cluster.restartServer();
    const reader = await connect();
    await reader.subscribe("type IN ('first', 'second', 'third', 'marker')", [['from', 'first']]);
    expect(await reader.types(3)).toEqual(['first', 'second', 'third']);
    await cluster.killServer('SIGKILL');
    await cluster.restartServer();
    await (await connect()).publish('marker');
    const again = await connect();
    await again.subscribe("type IN ('first', 'second', 'third', 'marker')", [['from', 'first']]);
    expect(await again.types(4)).toEqual(['first', 'second', 'third', 'marker']);
    expect(await scheduled()).toEqual([expect.objectContaining({ id: far, type: 'far' })]);
    await cluster.json('event', 'scheduled', 'cancel', far);
  });

  test('are listed for people, and taken back', async () => {
    const id = await later('temp.high', inMs(3_600_000));
    const shown = await cluster.muster('event', 'scheduled', 'list');
    expect(shown.stdout).toMatch(new RegExp(`temp\\.high +celsius=81 +default/admin +user +${id}`));
    const cancelled = await cluster.muster('event', 'scheduled', 'cancel', id);
    expect([cancelled.code, cancelled.stdout]).toEqual([0, `cancelled future event ${id}\n`]);
    expect(await scheduled()).toEqual([]);
    expect((await cluster.muster('event', 'scheduled', 'cancel', id)).code).toBe(4);
  });
});

describe('event access', () => {
  test('is granted, listed and revoked', async () => {
    const granted = await cluster.muster(
      ...['event', 'access', 'grant', 'publish', 'temp.*'],
      ...['--client', 'db1', '--user', 'alice', '--group', 'oncall'],
    );
    expect([granted.code, granted.stdout]).toEqual([0, 'publish temp.*: only alice, db1, group oncall\n']);
    expect(granted.stderr).toContain("warning: there is no user 'alice' in this organization yet\n");
    await cluster.json('event', 'access', 'grant', 'publish', 'temp.*', '--client', 'db2');
    await cluster.json('event', 'access', 'revoke', 'publish', 'temp.*', '--user', 'alice');
    expect(await cluster.json('event', 'access', 'list')).toEqual([
      { action: 'publish', pattern: 'temp.*', users: [], clients: ['db1', 'db2'], groups: ['oncall'] },
    ]);
    await expect((await connect()).publish('temp.x')).rejects.toThrow('temp.x');
    await cluster.json('event', 'access', 'revoke', 'publish', 'temp.*');
    expect(await cluster.json('event', 'access', 'list')).toEqual([]);
    await (await connect()).publish('temp.x');
  });

  test.each([
    [['event', 'access', 'grant', 'read', 'x', '--user', 'alice'], 2, 'expected publish or subscribe'],
    [['event', 'access', 'grant', 'publish', 'x'], 2, 'give --user, --client or --group'],
    [['event', 'access', 'grant', 'publish', 'push.*', '--user', 'alice'], 2, 'nobody publishes own types of Muster'],
    [['event', 'access', 'grant', 'publish', 'a b', '--user', 'alice'], 2, 'invalid pattern'],
    [['event', 'access', 'revoke', 'publish', 'x', '--user', 'alice'], 4, "restriction 'publish x' does not exist"],
    [['event', 'access', 'revoke', 'publish', 'x'], 4, "restriction 'publish x' does not exist"],
  ])('%j exits %i and says why', async (args, code, said) => {
    const refused = await cluster.muster(...args);
    expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(said)]);
  });
});

describe('durable subscriptions', () => {
  test('are listed, and removed', async () => {
    const reader = await connect();
    await reader.subscribe("type = 'mail'", [
      ['durable', 'inbox'],
      ['ack', 'client'],
    ]);
    await reader.close();
    const [listed] = await cluster.json<{ name: string; selector: string }[]>('event', 'durable', 'list');
    expect(listed).toMatchObject({ principal: 'admin', name: 'inbox', selector: "type = 'mail'" });
    expect((await cluster.muster('event', 'durable', 'rm', 'admin', 'inbox', '--yes')).code).toBe(0);
    expect((await cluster.muster('event', 'durable', 'rm', 'admin', 'inbox', '--yes')).code).toBe(4);
  });
});

test('a service gets an access token of its own, which is listed and removed apart from those of users', async () => {
  await cluster.json('service', 'create', 'relay', '--key-out', 'relay.pem');
  const made = await cluster.json<{ id: string; token: string }>('access-token', 'create', '--service', 'relay');
  const client = await EventClient.login(`stomp://127.0.0.1:${cluster.ports[3]}`, 'default/relay', made.token);
  expect((await cluster.muster('access-token', 'list', '--service', 'relay')).stdout).toContain('service relay');
  expect((await cluster.muster('access-token', 'list')).stdout).not.toContain(made.id);
  expect((await cluster.muster('access-token', 'rm', made.id, '--service', 'relay', '--yes')).code).toBe(0);
  await client.error();
  const both = await cluster.muster('access-token', 'create', '--service', 'relay', '--user', 'admin');
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('give either --user NAME or --service NAME')]);
});
