import { createPublicKey } from 'node:crypto';
import { type Identity, principalNow } from '@muster/platform/auth';
import { newBoxKey, type SealedBox } from '@muster/signing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { startTaskServer, type TaskRequest, type TaskServer } from './support/task-server.js';

/** Secrets of queues and tasks over HTTP: `alice` has `db_prod`, `bob` has none; both may write tasks. `n1` and `n2` are nodes. */

const VALUE = 'correct-horse-battery';
let server: TaskServer;
let queue = '';
let made = 0;
beforeAll(async () => {
  server = await startTaskServer();
  const { auth, org, privateKey } = server;
  await auth.groups.put(org, 'task_writers', { users: ['alice', 'bob'], clients: [], groups: [] }, ME);
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString();
  for (const name of ['n1', 'n2']) await auth.principals.createClient(org, { type: 'node', name, publicKey }, ME);
  await server.secrets.set(org, 'db_prod', { value: VALUE }, await person('alice'));
});
afterAll(() => server.close());
beforeEach(() => {
  queue = `q${++made}`;
});

async function person(name: string): Promise<Identity> {
  const found = await principalNow(
    server.auth.repository,
    server.org,
    (await candidate(name)) ?? { principalId: '', name },
  );
  if (found === null) throw new Error(`no ${name}`);
  return found;
}

async function candidate(name: string) {
  const [found] = await server.auth.repository.candidates(server.org.id, name);
  return found;
}

const ALICE = { as: 'alice' } as const;
const BOB = { as: 'bob' } as const;
const send = (method: string, path: string, body: object | undefined, rest: Partial<TaskRequest> = ALICE) =>
  server.send({ method, path, ...(body && { body }), ...rest });
const create = (secrets: object | null, rest: Partial<TaskRequest> = ALICE): Promise<Response> =>
  send('POST', 'queues', { name: queue, plugin: 'p', secrets }, rest);

async function outcome(response: Response): Promise<string> {
  return `${response.status} ${response.headers.get('x-muster-error') ?? ''}`.trim();
}

async function add(body: object = {}, rest: Partial<TaskRequest> = ALICE): Promise<string> {
  const response = await send('POST', `queues/${queue}/tasks`, { params: {}, ...body }, rest);
  expect(response.status).toBe(201);
  return ((await response.json()) as { id: string }).id;
}

/** As if it had been given to this node. */
async function give(id: string, node = 'n1', attempt = 1): Promise<void> {
  await server.test.store.transact((trx) =>
    trx.updateTable('tasks').set({ status: 0, node, attempt }).where('id', '=', id).execute(),
  );
}

async function fetched(id: string, { node = 'n1', attempt = 1 } = {}): Promise<string | Record<string, string>> {
  const box = newBoxKey();
  const response = await send('POST', `tasks/${id}/secrets`, { key: box.publicKey, attempt }, { as: node });
  if (response.status !== 200) return outcome(response);
  const opened = box.open((await response.json()) as SealedBox, `task secrets ${id} ${attempt} ${node}`);
  const values = Object.entries(JSON.parse(opened.toString()) as Record<string, string>);
  return Object.fromEntries(values.map(([name, value]) => [name, Buffer.from(value, 'base64').toString()]));
}

describe('secrets of tasks', () => {
  it('reach the node that has the task, by the names that its plugin knows, and nobody else', async () => {
    expect((await create({ password: 'db_prod' })).status).toBe(201);
    const id = await add();
    expect(await fetched(id)).toBe('404 not_found');
    await give(id);
    expect(await fetched(id)).toEqual({ password: VALUE });
    expect(await fetched(id, { node: 'n2' })).toBe('404 not_found');
    expect(await fetched(id, { attempt: 2 })).toBe('404 not_found');
    expect(await fetched(id, { node: 'alice' })).toBe('403 forbidden');
    // Another attempt is another node's.
    await give(id, 'n2', 2);
    expect(await fetched(id)).toBe('404 not_found');
    expect(await fetched(id, { node: 'n2', attempt: 2 })).toEqual({ password: VALUE });
    await server.test.store.transact((trx) =>
      trx.updateTable('tasks').set({ status: 1 }).where('id', '=', id).execute(),
    );
    expect(await fetched(id, { node: 'n2', attempt: 2 })).toBe('404 not_found');
  });

  it('may be named by a task itself, besides those of its queue', async () => {
    await create(null);
    const id = await add({ secrets: { token: 'db_prod' } });
    await give(id);
    expect(await fetched(id)).toEqual({ token: VALUE });
    const shown = await server.json<{ options: object }>({ path: `tasks/${id}` });
    expect(shown.options).toEqual({ secrets: { token: 'db_prod' } });
  });

  it('are changed and removed by their owner and admins; a grant to use one would not help', async () => {
    const bob = await person('bob');
    const refusal = { code: 'secret_not_own', message: "bob may not change the secret 'db_prod'" };
    await expect(server.secrets.remove(server.org, 'db_prod', bob)).rejects.toMatchObject(refusal);
    await expect(server.secrets.set(server.org, 'db_prod', { value: VALUE }, bob)).rejects.toMatchObject(refusal);
    await expect(server.secrets.remove(server.org, 'none', bob)).rejects.toMatchObject({ code: refusal.code });
  });

  it('are those that whoever names them may use, whatever way they take', async () => {
    expect(await outcome(await create({ password: 'db_prod' }, BOB))).toBe('403 secret_forbidden');
    expect(await outcome(await create({ password: 'none' }, BOB))).toBe('403 secret_forbidden');
    await create(null, BOB);
    const refused = (path: string, body: object, method = 'POST') => send(method, path, body, BOB).then(outcome);
    const secrets = { password: 'db_prod' };
    expect(await refused(`queues/${queue}`, { secrets }, 'PATCH')).toBe('403 secret_forbidden');
    expect(await refused(`queues/${queue}/tasks`, { params: {}, secrets })).toBe('403 secret_forbidden');
    expect(await refused(`queues/${queue}/tasks`, [{ params: {} }, { params: {}, secrets }])).toBe(
      '403 secret_forbidden',
    );
    expect((await send('POST', `queues/${queue}/tasks`, { params: {}, secrets: { '../x': 'db_prod' } })).status).toBe(
      400,
    );
  });

  it('do not follow a queue whose plugin, nodes or writers somebody else changes', async () => {
    await create({ password: 'db_prod' });
    const change = (body: object, rest: Partial<TaskRequest>) =>
      send('PATCH', `queues/${queue}`, body, rest).then(outcome);
    expect(await change({ plugin: 'mine' }, BOB)).toBe('403 secret_forbidden');
    expect(await change({ nodes: 'name:mine' }, BOB)).toBe('403 secret_forbidden');
    expect(await change({ threads: 3 }, BOB)).toBe('200');
    expect(await change({ plugin: 'other' }, ALICE)).toBe('200');
    // Whoever takes them away needs no right to them.
    expect(await change({ secrets: null, plugin: 'mine' }, BOB)).toBe('200');
    const id = await add();
    await give(id);
    expect(await fetched(id)).toBe('404 not_found');
  });

  it('are looked at whenever a node asks: a right that was lost, a value that is new', async () => {
    const { org, secrets } = server;
    const alice = await person('alice');
    await secrets.set(org, 'shared', { value: 'first-of-all' }, alice);
    await secrets.share(org, 'shared', { grant: ['bob'], revoke: [] }, alice);
    await create({ shared: 'shared' }, BOB);
    const id = await add({}, BOB);
    await give(id);
    expect(await fetched(id)).toEqual({ shared: 'first-of-all' });
    await secrets.set(org, 'shared', { value: 'second-of-all' }, alice);
    expect(await fetched(id)).toEqual({ shared: 'second-of-all' });
    await secrets.share(org, 'shared', { grant: [], revoke: ['bob'] }, alice);
    expect(await fetched(id)).toBe('403 secret_forbidden');
  });

  it('are used by tasks of schedules with the rights of whoever made these', async () => {
    await create(null);
    const body = (name: string) => ({
      name,
      cron: '@hourly',
      task: { queue, params: {}, secrets: { token: 'db_prod' } },
    });
    expect((await send('POST', 'schedules', body(`${queue}a`))).status).toBe(201);
    const { task } = (await (await send('POST', `schedules/${queue}a/run`, undefined)).json()) as { task: string };
    await give(task);
    expect(await fetched(task)).toEqual({ token: VALUE });
    expect((await send('POST', 'schedules', body(`${queue}b`), BOB)).status).toBe(201);
    expect(await outcome(await send('POST', `schedules/${queue}b/run`, undefined, BOB))).toBe('403 secret_forbidden');
  });

  it('go nowhere else than where they led when they were named: others may change the queue meanwhile', async () => {
    await create(null, BOB);
    const task = { queue, params: {}, secrets: { token: 'db_prod' } };
    expect((await send('POST', 'schedules', { name: queue, cron: '@hourly', task })).status).toBe(201);
    const id = await add({ secrets: { token: 'db_prod' } });
    const change = (body: object) => send('PATCH', `queues/${queue}`, body, BOB).then(outcome);
    const run = () => send('POST', `schedules/${queue}/run`, undefined).then(outcome);
    await give(id);
    expect(await change({ threads: 3 })).toBe('200');
    expect(await fetched(id)).toEqual({ token: VALUE });
    expect(await run()).toBe('201');
    expect(await change({ nodes: 'name:mine' })).toBe('200');
    expect(await fetched(id)).toBe('403 secret_elsewhere');
    expect(await run()).toBe('403 secret_elsewhere');
    expect(await change({ nodes: null, plugin: 'mine' })).toBe('200');
    expect(await fetched(id)).toBe('403 secret_elsewhere');
    // Who names them knows the queue as it is now.
    const again = await add({ secrets: { token: 'db_prod' } });
    await give(again);
    expect(await fetched(again)).toEqual({ token: VALUE });
    expect((await send('PATCH', `schedules/${queue}`, { task })).status).toBe(200);
    expect(await run()).toBe('201');
    const shown = await server.json<{ task: object }>({ path: `schedules/${queue}` });
    expect(shown.task).toEqual(task);
  });

  it('are told of in the audit whenever somebody uses them, and for each task that a node fetches them for', async () => {
    await server.secrets.set(server.org, `key_${queue}`, { value: VALUE }, await person('alice'));
    const named = { a: `key_${queue}`, b: `key_${queue}` };
    const audit = async (action: string) => {
      const rows = server.test.store.read.selectFrom('audit').selectAll().where('action', '=', action);
      const found = await rows.where('target', '=', `key_${queue}`).orderBy('id').execute();
      return found.map(({ actor, detail }) => [actor, JSON.parse(String(detail))]);
    };
    await create(named);
    await send('PATCH', `queues/${queue}`, { threads: 2 }, BOB);
    await send('PATCH', `queues/${queue}`, { plugin: 'other' });
    const uses: unknown[] = [
      ['alice', { queue }],
      ['alice', { queue }],
    ];
    expect(await audit('secret.use')).toEqual(uses);
    const one = await add({ secrets: named });
    uses.push(['alice', { queue, task: one }]);
    const unique = { key: 'k', seconds: 60 };
    const first = await add({ secrets: named, unique });
    uses.push(['alice', { queue, task: first }]);
    // There is one of this key: none is added.
    const same = await send('POST', `queues/${queue}/tasks`, { params: {}, secrets: named, unique });
    expect(await same.json()).toEqual({ id: first, created: false });
    const list = [{ params: {} }, { params: {}, secrets: named }, { params: {}, secrets: named }];
    const added = await (await send('POST', `queues/${queue}/tasks`, list)).json();
    uses.push(['alice', { queue, task: (added as { id: string }[])[1]?.id, tasks: 2 }]);
    expect(await audit('secret.use')).toEqual(uses);
    for (const id of [one, first, first]) {
      await give(id);
      await fetched(id);
    }
    await expect.poll(() => audit('secret.fetch')).toHaveLength(2);
    expect((await audit('secret.fetch')).map(([node, { task }]) => [node, task])).toEqual([
      ['n1', one],
      ['n1', first],
    ]);
  });

  it('are nowhere but where they are sealed; who fetched them is in the audit', async () => {
    const { read } = server.test.store;
    await create({ password: 'db_prod' });
    const id = await add();
    await give(id);
    expect(await fetched(id)).toEqual({ password: VALUE });
    const rows = [
      ...(await read.selectFrom('tasks').selectAll().execute()),
      ...(await read.selectFrom('task_queues').selectAll().execute()),
      ...(await read.selectFrom('audit').selectAll().execute()),
    ];
    expect(JSON.stringify(rows)).not.toContain(VALUE);
    await expect
      .poll(async () => {
        const audit = await read.selectFrom('audit').selectAll().where('action', '=', 'secret.fetch').execute();
        return audit.map(({ target, detail }) => `${target} ${String(detail)}`).join('\n');
      })
      .toContain(id);
  });
});
