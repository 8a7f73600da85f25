import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedKey } from '../../platform/test/support/personas.js';
import type { Client, Reply } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** One box finds what is called so, or whose id begins so, of every kind that whoever asks may look at. */

const ORG = '/organizations/default';
const { publicKey: public_key, privateKey } = sharedKey();
let server: TestServer;
let api: Client;
let alice: Client;
let task = '';

function done({ status, body, text }: Reply): Record<string, unknown> {
  expect(status, text).toBeLessThan(300);
  return body as Record<string, unknown>;
}

beforeAll(async () => {
  server = await startTestServer();
  api = server.api;
  done(await api.post('/users', { name: 'alice', public_key, organization: 'default' }));
  alice = api.as({ name: 'alice', privateKey });
  for (const name of ['mailer1', 'mailer2', 'web-mail', 'db1'])
    done(await api.post(`${ORG}/nodes`, { name, public_key }));
  done(await api.put(`${ORG}/groups/mail-people`, { users: ['alice'] }));
  for (const [name, readers] of [
    ['mail', []],
    ['secret-mail', []],
  ] as const)
    done(await api.post(`${ORG}/queues`, { name, plugin: 'mail', readers }));
  task = String(done(await api.post(`${ORG}/queues/mail/tasks`, { params: {} }))['id']);
  done(await api.post(`${ORG}/runbooks`, { name: 'restart-mail', command: ['true'], nodes: ['mailer1'] }));
  const start = { on: "type = 'node.down'", task: { queue: 'mail', params: {} } };
  done(await api.post(`${ORG}/rules`, { name: 'mail-down', ...start }));
  done(
    await api.post(`${ORG}/schedules`, {
      name: 'nightly-mail',
      cron: '0 3 * * *',
      task: { queue: 'mail', params: {} },
    }),
  );
});
afterAll(() => server.stop());

interface Answer {
  readonly found: readonly { readonly kind: string; readonly id: string; readonly name: string }[];
  readonly left_out: readonly { readonly kind: string; readonly permission: string }[];
}
const search = async (q: string, by = api) =>
  done(await by.get(`${ORG}/search?q=${encodeURIComponent(q)}`)) as unknown as Answer;
const named = ({ found }: Answer) => found.map(({ kind, name }) => `${kind} ${name}`);

describe('what is typed', () => {
  it('finds things of every kind by a part of their name, first what begins with it', async () => {
    expect(named(await search('MAIL'))).toEqual([
      ...['node mailer1', 'node mailer2', 'node web-mail', 'runbook restart-mail'],
      ...['queue mail', 'queue secret-mail', 'schedule nightly-mail', 'rule mail-down', 'group mail-people'],
    ]);
    expect(named(await search(' admin '))).toContain('user admin');
  });

  it('finds a task by the first digits of its id', async () => {
    expect((await search(task.slice(0, 10))).found).toEqual([{ kind: 'task', id: task, name: 'mail', more: 'queued' }]);
    expect((await search(task.slice(0, 7))).found).toEqual([]);
  });

  it('is bounded, and so is what is found', async () => {
    for (const q of ['', '%20', 'x'.repeat(101)]) expect((await api.get(`${ORG}/search?q=${q}`)).status, q).toBe(400);
    for (let at = 0; at < 7; at++) done(await api.post(`${ORG}/nodes`, { name: `many${at}`, public_key }));
    expect(named(await search('many'))).toEqual([0, 1, 2, 3, 4].map((at) => `node many${at}`));
  });

  it.each(['%', "'", '\0', '_', '\\', '\u{1F41F}'])('is text and nothing else: %j', async (q) => {
    expect((await search(q)).found.filter(({ name }) => !name.includes(q))).toEqual([]);
  });
});

describe('work', () => {
  it('is found by what it runs, and by the first digits of its id', async () => {
    const { id } = done(await api.post(`${ORG}/pushy/jobs`, { command: 'sweep-chimneys', nodes: ['db1'] }));
    const digits = String(id).slice(12, 20);
    for (const q of ['chimneys', digits, String(id)]) {
      const { found } = await search(q);
      expect(found).toMatchObject([{ kind: 'push_job', id, name: 'sweep-chimneys' }]);
    }
  });

  it('of jobs is found by those who may see it', async () => {
    const root = join(server.dataDir, 'work');
    mkdirSync(root);
    done(await api.post(`${ORG}/systems/v2`, { name: 'here', type: 'local', root, default: true }));
    done(await api.post(`${ORG}/apps/v2`, { name: 'say', version: '1.0', command: ['/bin/echo', 'hello'] }));
    const job = { appId: 'say-1.0', name: 'align-genes', archive: false };
    const { result } = done(await api.post(`${ORG}/jobs/v2`, job)) as { result: { id: string } };
    for (const q of ['genes', result.id.slice(0, 10)])
      expect((await search(q)).found).toMatchObject([{ kind: 'job', id: result.id, name: 'align-genes' }]);
    expect((await search('genes', alice)).found).toEqual([]);
  });
});

describe('who asks', () => {
  it('is told what they may not look at, and who may', async () => {
    const { found, left_out } = await search('mail', alice);
    expect(new Set(left_out.map(({ kind, permission }) => `${kind} ${permission}`))).toEqual(
      new Set(['user org:admin', 'service org:admin', 'group org:admin']),
    );
    expect(found.some(({ kind }) => kind === 'group')).toBe(false);
  });

  it('finds nothing that they may not read', async () => {
    // From now on readers alone look at nodes, push jobs and tasks.
    for (const role of ['push_job_readers', 'task_readers'])
      done(await api.put(`${ORG}/groups/${role}`, { users: ['admin'] }));
    done(await api.call('PATCH', `${ORG}/queues/mail`, { body: { readers: ['alice'] } }));
    const { found, left_out } = await search('mail', alice);
    expect(named({ found, left_out })).toEqual(['queue mail', 'schedule nightly-mail', 'rule mail-down']);
    expect(left_out.map(({ kind }) => kind)).toEqual(['node', 'push_job', 'user', 'service', 'group']);
    expect(named(await search(task, alice))).toEqual(['task mail']);
    done(await api.call('PATCH', `${ORG}/queues/mail`, { body: { readers: [] } }));
    expect((await search(task, alice)).found).toEqual([]);
    expect(named(await search('mail', alice))).toEqual([]);
  });
});
