import { SealingKey, Secrets } from '@muster/platform/secrets';
import { newBoxKey } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { noProviders } from '../../platform/test/support/no-providers.js';
import { ME } from '../../platform/test/support/personas.js';
import { finished, keys, type Persona, type PushServer, startPushServer } from './support/push-server.js';
import { everythingStored, fetchSecrets, running as isRunning } from './support/secrets.js';

const VALUE = 'hunter2-hunter2-hunter2';
const SECRETS = '/organizations/default/secrets';

let server: PushServer;
beforeEach(async () => {
  server = await startPushServer();
  for (const name of ['web1', 'web2']) {
    await server.auth.principals.createClient(server.org, { type: 'node', name, publicKey: keys.publicKey }, ME);
    server.nodes.enter(server.org.id, name, 'run');
  }
});
afterEach(() => server.close());

interface Told {
  readonly status: number;
  readonly body: unknown;
}

async function call(method: string, path: string, body?: unknown, as: Persona = 'admin user'): Promise<Told> {
  const response = await server.send({ method, path, as, ...(body !== undefined && { body }) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : JSON.parse(text) };
}

const set = (name: string, value = VALUE, as?: Persona) => call('PUT', `${SECRETS}/${name}`, { value }, as);
const start = (fields: object, as?: Persona) =>
  call('POST', 'jobs', { command: 'migrate', nodes: ['web1'], ...fields }, as);

const fetched = (job: string, node: string) => fetchSecrets(server, job, node);
const running = (job: string) => isRunning(server, job);

describe('a secret', () => {
  test('goes to the node that was told to run the job, while it runs it, and stands nowhere else', async () => {
    await set('db_password');
    const started = await start({ secrets: { db_password: 'DB_PASSWORD_FILE' }, nodes: ['web1'] });
    const { id } = started.body as { id: string };
    await running(id);
    expect(server.nodes.sent.map(({ message }) => message)).toContainEqual(
      expect.objectContaining({ type: 'prepare', options: { secrets: { db_password: 'DB_PASSWORD_FILE' } } }),
    );
    expect(await fetched(id, 'web1')).toEqual({ db_password: VALUE });
    expect(await fetched(id, 'web2')).toBe(404);
    expect((await call('POST', `jobs/${id}/secrets`, { key: newBoxKey().publicKey })).status).toBe(403);
    server.nodes.play('web1', finished(id, 'succeeded'));
    const job = await server.finish(id, '?detail=true&include_file=true');
    expect(job).toMatchObject({ secrets: { db_password: 'DB_PASSWORD_FILE' } });
    expect(await fetched(id, 'web1')).toBe(404);

    const audit = await server.auth.audit.page({ orgId: server.org.id, limit: 100 });
    const secrets = audit.filter(({ target }) => target === 'db_password');
    expect(secrets.map(({ action, actor, detail }) => [action, actor.name, detail?.job]).reverse()).toEqual([
      ['secret.set', 'admin', undefined],
      ['secret.use', 'admin', id],
      ['secret.fetch', 'web1', id],
    ]);
    const shown = [job, audit, await call('GET', SECRETS), await call('GET', `${SECRETS}/db_password`)];
    const kept = `${JSON.stringify(shown)}${await everythingStored(server)}`;
    expect(kept).toContain('db_password');
    expect(kept).not.toContain(VALUE);
    expect(kept).not.toContain(Buffer.from(VALUE).toString('base64'));
  });

  test('goes to no node before that is told to run the job', async () => {
    await set('db_password');
    server.nodes.enter(server.org.id, 'web2', 'silent');
    const { id } = (await start({ secrets: { db_password: '' }, nodes: ['web1', 'web2'] })).body as { id: string };
    expect(await fetched(id, 'web1')).toBe(404);
  });

  test('is refused to a node whose protocol cannot say it', async () => {
    await set('db_password');
    server.nodes.speak('web1', 'chef2');
    const { id } = (await start({ secrets: { db_password: '' } })).body as { id: string };
    await server.finish(id);
    expect(JSON.stringify((await call('GET', `jobs/${id}/nodes`)).body)).toContain('cannot carry secrets');
  });

  test('has another value from now on when it is set again, by its owner or an admin', async () => {
    expect((await set('token', 'first-value', 'normal user')).status).toBe(200);
    expect((await set('token', 'other-value', 'grantee')).status).toBe(403);
    expect((await set('token', 'third-value')).body).toMatchObject({ owner: 'normal' });
    const { id } = (await start({ secrets: { token: '' } })).body as { id: string };
    await running(id);
    expect(await fetched(id, 'web1')).toEqual({ token: 'third-value' });
  });

  test('that was deleted is given nobody', async () => {
    await set('token');
    const { id } = (await start({ secrets: { token: '' } })).body as { id: string };
    await running(id);
    expect((await call('DELETE', `${SECRETS}/token`)).status).toBe(204);
    expect(await fetched(id, 'web1')).toBe(404);
    expect((await start({ secrets: { token: '' } })).status).toBe(404);
  });

  test('is refused when it is too short to be hidden, too long, or no name', async () => {
    expect((await set('token', ' short \n')).body).toMatchObject({ error: expect.stringContaining('less than 8') });
    expect((await set('token', 'x'.repeat(8193))).status).toBe(400);
    expect((await set('token', 'ü'.repeat(4097))).status).toBe(400);
    expect((await set('a%20b')).status).toBe(400);
    for (const secrets of [{}, [], { token: 1 }, { 'a/b': '' }, { token: 'A B' }, { a: 'X', b: 'X' }]) {
      expect((await start({ secrets })).status).toBe(400);
    }
    expect((await start({ secrets: { token: 'X' }, env: { X: '1' } })).status).toBe(400);
  });
});

describe('another key', () => {
  test('seals what the former one sealed, all of it or nothing', async () => {
    await set('token');
    await set('other', 'other-value');
    const {
      auth,
      test: { store },
    } = server;
    const [former, key] = [SealingKey.of(new Uint8Array(32)), SealingKey.of(new Uint8Array(32).fill(1))];
    const secrets = new Secrets({ store, auth, key, providers: noProviders() });
    const reader = { key: newBoxKey().publicKey, about: 'x' };
    const names = ['token', 'other'];
    const message = expect.stringMatching(/^what is sealed for the secret '(token|other)' cannot be opened/);
    const boxed = secrets.boxed(server.org, names, reader);
    await expect(boxed).rejects.toMatchObject({ code: 'secret_unreadable', status: 503, message });
    await expect(secrets.rekey(key)).rejects.toMatchObject({ code: 'secret_unreadable' });
    expect(await secrets.sealedOtherwise(10)).toEqual(['other', 'token']);
    expect(await secrets.sealedOtherwise(1)).toEqual(['other']);
    expect(await secrets.rekey(former)).toBe(2);
    expect(await secrets.rekey(former)).toBe(0);
    expect(await secrets.sealedOtherwise(10)).toEqual([]);
    await secrets.boxed(server.org, names, reader);
    const before = new Secrets({ store, auth, key: former, providers: noProviders() });
    await expect(before.boxed(server.org, names, reader)).rejects.toMatchObject({ code: 'secret_unreadable' });
  });
});

describe('who may use a secret', () => {
  const use = async (as: Persona) => (await start({ secrets: { token: '' } }, as)).status;

  test('nobody but its owner and admins, and whom they name', async () => {
    await set('token');
    await server.auth.groups.put(
      server.org,
      'push_job_writers',
      { users: ['normal', 'grantee'], clients: [], groups: [] },
      ME,
    );
    expect(await use('normal user')).toBe(403);
    // Nor is it told whether there is one.
    const denied = await call('GET', `${SECRETS}/token`, undefined, 'normal user');
    const missing = await call('GET', `${SECRETS}/nothing`, undefined, 'normal user');
    expect([denied.status, missing.status]).toEqual([403, 403]);
    expect((await call('GET', SECRETS, undefined, 'normal user')).body).toEqual([]);

    expect((await call('PATCH', `${SECRETS}/token`, { grant: ['normal'] }, 'normal user')).status).toBe(403);
    const granted = await call('PATCH', `${SECRETS}/token`, { grant: ['normal', 'group:dba'] });
    // They count once somebody has them; whoever has misspelt one is told.
    expect(granted.body).toMatchObject({ holders: ['normal', 'group:dba'], unknown: ['group:dba'] });
    expect(await use('normal user')).toBe(201);
    expect((await call('GET', SECRETS, undefined, 'normal user')).body).toMatchObject([{ name: 'token' }]);
    // To use it is not to change it, nor to let others use it.
    expect((await set('token', VALUE, 'normal user')).status).toBe(403);
    expect((await call('DELETE', `${SECRETS}/token`, undefined, 'normal user')).status).toBe(403);
    expect((await call('PATCH', `${SECRETS}/token`, { grant: ['grantee'] }, 'normal user')).status).toBe(403);

    expect(await use('grantee')).toBe(403);
    const who = { users: ['grantee'], clients: [], groups: [] };
    await server.auth.groups.put(server.org, 'dba', who, ME);
    expect(await use('grantee')).toBe(201);

    expect((await call('PATCH', `${SECRETS}/token`, { revoke: ['normal'] })).body).toMatchObject({
      holders: ['group:dba'],
    });
    expect(await use('normal user')).toBe(403);
    // A node has none, whatever it is called.
    expect((await server.send({ path: SECRETS, user: 'web1' })).status).toBe(403);
  });

  test('in a runbook its author, whoever runs it', async () => {
    await set('token');
    const definition = { command: 'migrate', nodes: ['web1'], runners: ['normal'], secrets: { token: 'TOKEN_FILE' } };
    const runbooks = '/organizations/default/runbooks';
    expect((await call('POST', runbooks, { name: 'migrate', ...definition })).status).toBe(201);
    const run = () => call('POST', `${runbooks}/migrate/run`, { parameters: {} }, 'normal user');
    const ran = await run();
    expect(ran.status).toBe(201);
    expect(await use('normal user')).toBe(403);
    await call('PATCH', `${SECRETS}/token`, { grant: ['normal'] });
    await server.auth.groups.put(server.org, 'push_job_writers', { users: ['grantee'], clients: [], groups: [] }, ME);
    // Who may use it gives it to no runbook of somebody who may not.
    expect((await call('PUT', `${runbooks}/migrate`, definition, 'grantee')).status).toBe(200);
    expect((await run()).status).toBe(403);
  });
});
