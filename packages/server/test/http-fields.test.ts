import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { ORG, useEventServer } from './support/event-server.js';

/** Lists in part and in another order: `fields` and `sort`. */

const events = useEventServer();
type Entry = Readonly<Record<string, unknown>>;

const LISTS = [
  { name: 'nodes', path: `${ORG}/nodes`, within: 'nodes', fields: 'node_name,status', sort: 'node_name' },
  { name: 'push jobs', path: `${ORG}/pushy/jobs`, within: null, fields: 'id,created_at', sort: 'created_at' },
  { name: 'tasks', path: `${ORG}/tasks`, within: 'tasks', fields: 'id,ctime', sort: 'ctime' },
  { name: 'tasks of a queue', path: `${ORG}/queues/q/tasks`, within: 'tasks', fields: 'id,ctime', sort: 'ctime' },
  { name: 'long jobs', path: `${ORG}/jobs/v2`, within: 'result', fields: 'id,lastUpdated', sort: 'lastUpdated' },
] as const;

beforeAll(async () => {
  const { api } = events;
  const made = async (path: string, body: object) => {
    const reply = await api.post(`${ORG}/${path}`, body);
    expect(reply.status, reply.text).toBeLessThan(300);
  };
  for (const name of ['a1', 'a2', 'a3']) await events.create(`${ORG}/nodes`, name);
  for (const command of ['one', 'two', 'three']) await made('pushy/jobs', { command, nodes: ['a1', 'a2'] });
  await made('queues', { name: 'q', plugin: 'thumbnail' });
  for (const file of ['1', '2', '3']) await made('queues/q/tasks', { params: { file } });
  const root = join(events.server.dataDir, 'work');
  mkdirSync(root, { recursive: true });
  await made('systems/v2', { name: 'here', type: 'local', root, default: true });
  await made('apps/v2', { name: 'say', version: '1.0', command: ['/bin/echo', 'hello'], parameters: [] });
  for (const name of ['x', 'y', 'z']) await made('jobs/v2', { name, appId: 'say-1.0', archive: false });
  // Until nothing changes any more.
  await vi.waitFor(async () => {
    const { body } = await api.get(`${ORG}/jobs/v2?naked=true&status=FINISHED`);
    expect(body).toHaveLength(3);
  }, 30_000);
});

async function ask(path: string, within: string | null): Promise<readonly Entry[]> {
  const { status, body, text } = await events.api.get(path);
  expect(status, text).toBe(200);
  return (within === null ? body : (body as Readonly<Record<string, unknown>>)[within]) as readonly Entry[];
}

describe.each(LISTS)('a list of $name', ({ path, within, fields, sort }) => {
  const [key = ''] = fields.split(',');

  it('has of each entry what is asked for, and all of it else', async () => {
    const whole = await ask(path, within);
    const part = await ask(`${path}?fields=${fields}`, within);
    expect(part.length).toBeGreaterThanOrEqual(3);
    for (const entry of part) expect(Object.keys(entry)).toEqual(fields.split(','));
    expect(part.map((entry) => entry[key]).sort()).toEqual(whole.map((entry) => entry[key]).sort());
    expect(Object.keys(whole[0] ?? {}).length).toBeGreaterThan(2);
  });

  it.each(['nothing', `${fields},nothing`, ',', '__proto__'])(
    'names what it does not have, and what it has: %s',
    async (asked) => {
      const { status, text } = await events.api.get(`${path}?fields=${asked}`);
      expect([status, text]).toEqual([400, expect.stringContaining(fields.split(',')[0] ?? '')]);
      if (asked.includes('nothing')) expect(text).toContain("there is no 'nothing'");
    },
  );

  it('comes in the order that is asked for', async () => {
    const keyed = (entries: readonly Entry[]) => entries.map((entry) => entry[key]);
    const up = keyed(await ask(`${path}?sort=${sort}`, within));
    expect(keyed(await ask(`${path}?sort=-${sort}`, within))).toEqual([...up].reverse());
    const { status, text } = await events.api.get(`${path}?sort=color`);
    expect([status, text]).toEqual([400, expect.stringContaining(`-${sort}`)]);
  });
});

it('pages of nodes, of push jobs and of tasks go on in the same order', async () => {
  const nodes = await ask(`${ORG}/nodes?sort=-node_name`, 'nodes');
  const [first, second] = await ask(`${ORG}/nodes?sort=-node_name&limit=2`, 'nodes');
  expect([first, second]).toEqual(nodes.slice(0, 2));
  expect(await ask(`${ORG}/nodes?sort=-node_name&after=${second?.node_name}`, 'nodes')).toEqual(nodes.slice(2));

  const jobs = (await ask(`${ORG}/pushy/jobs?sort=created_at`, null)).map(({ id }) => id);
  const paged: unknown[] = [];
  for (let next: string | null = `${ORG}/pushy/jobs?sort=created_at&limit=1&fields=id`; next !== null; ) {
    const { body, headers } = await events.api.get(next);
    paged.push(...(body as readonly Entry[]).map(({ id }) => id));
    next = /<(.*)>/.exec(headers.get('link') ?? '')?.[1] ?? null;
  }
  expect(paged).toEqual(jobs);

  const tasks = await ask(`${ORG}/tasks?sort=ctime`, 'tasks');
  expect(await ask(`${ORG}/tasks?sort=ctime&after=${tasks[0]?.id}`, 'tasks')).toEqual(tasks.slice(1));
});

it('what push jobs show in detail alone is shown when it is asked for', async () => {
  const [job] = await ask(`${ORG}/pushy/jobs?fields=command,created_by,counts&limit=1`, null);
  expect(job).toMatchObject({ command: 'three', created_by: 'admin', counts: expect.any(Object) });
});

it('one order is not said in two ways', async () => {
  expect((await events.api.get(`${ORG}/tasks?sort=ctime&order=asc`)).status).toBe(400);
  expect((await events.api.get(`${ORG}/jobs/v2?sort=lastUpdated&orderBy=name`)).status).toBe(400);
  expect((await events.api.get(`${ORG}/jobs/v2?fields=id&filter=name`)).status).toBe(400);
  expect((await events.api.get(`${ORG}/jobs/v2?sort=lastUpdated&sort=-lastUpdated`)).status).toBe(400);
});
