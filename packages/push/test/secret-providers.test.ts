import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@muster/base';
import { openSecretProviders } from '@muster/platform/secrets';
import { newBoxKey, type SealedBox } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { keys, type Persona, type PushServer, startPushServer } from './support/push-server.js';
import { FakeVault } from './support/vault.js';

const VALUE = 'correct-horse-battery';
const SECRETS = '/organizations/default/secrets';

let directory: string;
let vault: FakeVault;
let address: string;
let server: PushServer | undefined;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'muster-providers-'));
  vault = new FakeVault();
  address = await vault.listen();
  vault.tokens.add('root-token');
  vault.data.set('secret/apps/db', { password: VALUE, value: 'the-usual-field' });
  put('token', 'root-token\n');
});
afterEach(async () => {
  await server?.close();
  server = undefined;
  await vault.close();
  rmSync(directory, { recursive: true });
});

const at = (name: string): string => join(directory, name);
const put = (name: string, text: string): void => writeFileSync(at(name), text);

/** A program that its owner has written. */
function program(name: string, lines: string): string {
  put(name, `#!/bin/sh\n${lines}\n`);
  chmodSync(at(name), 0o755);
  return at(name);
}

/** A server with these providers. */
async function started(providers: object): Promise<PushServer> {
  put('providers.json', JSON.stringify(providers));
  server = await startPushServer({ secrets: { providers: at('providers.json') } });
  for (const name of ['web1', 'web2']) {
    await server.auth.principals.createClient(server.org, { type: 'node', name, publicKey: keys.publicKey }, ME);
    server.nodes.enter(server.org.id, name, 'run');
  }
  return server;
}

/** The Vault as a provider; it is on this machine, which has to be allowed. */
const vaultWith = (more: object) => ({
  vault: { type: 'vault', organizations: ['default'], address, private: true, token_file: at('token'), ...more },
});
const commandWith = (command: readonly string[], more: object = {}) => ({
  vault: { type: 'command', organizations: ['default'], command, ...more },
});

async function call(method: string, path: string, body?: unknown, as: Persona = 'admin user') {
  if (server === undefined) throw new Error('no server was started');
  const response = await server.send({ method, path, as, ...(body !== undefined && { body }) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown), text };
}

const set = (reference = 'apps/db#password', as?: Persona) =>
  call('PUT', `${SECRETS}/db_password`, { provider: 'vault', reference }, as);

/** A job with the secret, on nodes that run it; what each of them gets. */
async function handed(...nodes: string[]): Promise<unknown[]> {
  const { body } = await call('POST', 'jobs', { command: 'migrate', nodes, secrets: { db_password: '' } });
  const { id } = body as { id: string };
  for (;;) {
    const { text } = await call('GET', `jobs/${id}/nodes`);
    if (text.split('"running"').length > nodes.length) break;
  }
  return Promise.all(nodes.map((node) => fetched(id, node)));
}

async function fetched(job: string, node: string): Promise<unknown> {
  if (server === undefined) throw new Error('no server was started');
  const key = newBoxKey();
  const sent = { method: 'POST', path: `jobs/${job}/secrets`, body: { key: key.publicKey }, user: node };
  const response = await server.send(sent);
  const text = await response.text();
  if (response.status !== 200) return { status: response.status, error: text };
  const opened = key.open(JSON.parse(text) as SealedBox, `push secrets ${job} ${node}`);
  const { db_password = '' } = JSON.parse(opened.toString()) as Record<string, string>;
  return Buffer.from(db_password, 'base64').toString();
}

const reads = () => vault.asked.filter(({ method }) => method === 'GET').length;

describe('a secret of a Vault', () => {
  test('is fetched when a node needs it, as it is there then, and is stored nowhere', async () => {
    const { test: stored, auth, org } = await started(vaultWith({}));
    const made = await set();
    expect(made).toMatchObject({ status: 200, body: { provider: 'vault', reference: 'apps/db#password' } });
    expect(await handed('web1')).toEqual([VALUE]);
    stored.clock.advance(10_000);
    vault.data.set('secret/apps/db', { password: 'rotated-since-then' });
    expect(await handed('web2')).toEqual(['rotated-since-then']);

    const rows = await stored.store.read.selectFrom('org_secrets').selectAll().execute();
    expect(rows).toMatchObject([{ sealed: null, provider: 'vault', reference: 'apps/db#password' }]);
    const entries = await auth.audit.page({ orgId: org.id, limit: 100 });
    const ofSecret = entries.filter(({ target }) => target === 'db_password');
    expect(ofSecret.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['secret.set', 'secret.use', 'secret.fetch']),
    );
    expect(ofSecret.find(({ action }) => action === 'secret.set')?.detail).toMatchObject({
      provider: 'vault',
      reference: 'apps/db#password',
    });
    expect(JSON.stringify(entries) + made.text).not.toContain(VALUE);
  });

  test('is asked for once by a job on many nodes', async () => {
    await started(vaultWith({}));
    await set();
    const before = reads();
    expect(await handed('web1', 'web2')).toEqual([VALUE, VALUE]);
    expect(reads() - before).toBeLessThanOrEqual(1);
  });

  test('has the field `value` unless the reference names another', async () => {
    await started(vaultWith({}));
    await set('apps/db');
    expect(await handed('web1')).toEqual(['the-usual-field']);
  });

  test('is below the path of the provider, which may be that of the organization; mount and namespace are said', async () => {
    await started(vaultWith({ mount: 'kv', path: 'muster/{organization}', namespace: 'team-a' }));
    vault.data.set('kv/muster/default/db', { value: VALUE });
    expect((await set('db')).status).toBe(200);
    expect(vault.asked.at(-1)).toEqual({
      method: 'GET',
      path: '/v1/kv/data/muster/default/db',
      token: 'root-token',
      namespace: 'team-a',
    });
  });

  test.each(['../other/db', 'a/../../other', '/etc', '-flag', 'a//b', 'a b', 'a#b#c', 'x?version=1'])(
    'is not named by %s',
    async (reference) => {
      await started(vaultWith({ path: 'muster/{organization}' }));
      expect(await set(reference)).toMatchObject({
        status: 400,
        body: {
          error: expect.stringContaining('invalid reference: must have words of letters, digits and _ . @ : + -'),
        },
      });
      expect(vault.asked).toEqual([]);
    },
  );

  test('comes with the login of an AppRole, which is made once, and again when it ends or is ended', async () => {
    put('secret-id', 'the-secret-id\n');
    vault.roles.set('the-role', 'the-secret-id');
    const { test: stored } = await started({
      vault: {
        ...vaultWith({}).vault,
        token_file: undefined,
        app_role: { role_id: 'the-role', secret_id_file: at('secret-id') },
      },
    });
    const logins = () => vault.asked.filter(({ path }) => path === '/v1/auth/approle/login').length;
    await set();
    stored.clock.advance(10_000);
    expect(await handed('web1')).toEqual([VALUE]);
    expect(logins()).toBe(1);
    stored.clock.advance(1_200_000);
    await set();
    expect(logins()).toBe(2);
    vault.tokens.clear();
    stored.clock.advance(10_000);
    expect((await set()).status).toBe(200);
    expect(logins()).toBe(3);
  });

  test.each([
    ['there is nothing there', () => vault.data.delete('secret/apps/db'), 'there is nothing at apps/db in secret'],
    ['it was deleted', () => vault.data.set('secret/apps/db', null), 'or it was deleted'],
    ['it has no such field', () => vault.data.set('secret/apps/db', { user: 'x' }), 'no text under the name password'],
    ['the field is no text', () => vault.data.set('secret/apps/db', { password: { a: 1 } }), 'no text under the name'],
    ['it is too short to be hidden', () => vault.data.set('secret/apps/db', { password: 'abc' }), 'less than 8 bytes'],
    ['the token is refused', () => vault.tokens.clear(), 'status 403: permission denied'],
    ['it is sealed', () => Object.assign(vault, { sealed: true }), 'sealed or in standby'],
    ['the file of the token is gone', () => rmSync(at('token')), 'cannot be read (ENOENT)'],
  ])('is refused with the reason when %s', async (_, breaks, reason) => {
    await started(vaultWith({}));
    breaks();
    const { status, text } = await set();
    expect(status).toBe(503);
    expect(text).toContain('the provider vault does not give the secret');
    expect(text).toContain(reason);
    expect((await call('GET', SECRETS)).body).toEqual([]);
  });

  test('a Vault that does not answer is given up in time, and what was kept before stays', async () => {
    await started(vaultWith({ timeout: 0.2 }));
    await call('PUT', `${SECRETS}/db_password`, { value: 'kept-here-before' });
    vault.silent = true;
    const { status, text } = await set();
    expect(status).toBe(503);
    expect(text).toContain('did not answer within 0.2 s');
    expect(await handed('web1')).toEqual(['kept-here-before']);
  });

  test('a node is told why it gets none, and gets it when the Vault is back', async () => {
    await started(vaultWith({}));
    await set();
    server?.test.clock.advance(10_000);
    vault.sealed = true;
    const [refused] = (await handed('web1')) as [{ status: number; error: string }];
    expect(refused.status).toBe(503);
    expect(refused.error).toContain('sealed or in standby');
    const audited = async () => (await server?.auth.audit.page({ orgId: server.org.id, limit: 100 })) ?? [];
    await expect
      .poll(async () => (await audited()).find(({ action }) => action === 'secret.fetch'))
      .toMatchObject({
        ...{ target: 'db_password', outcome: 'failed', actor: { name: 'web1' } },
        detail: { reason: expect.stringContaining('sealed or in standby') },
      });
    vault.sealed = false;
    expect(await handed('web2')).toEqual([VALUE]);
  });

  test('a private address has to be allowed', async () => {
    await started(vaultWith({ private: false }));
    const { status, text } = await set();
    expect(status).toBe(503);
    expect(text).toContain('private address');
    expect(vault.asked).toEqual([]);
  });
});

describe('a secret of a program', () => {
  test('is what it prints, without the line end; organization and reference are arguments and nothing else', async () => {
    const path = program('get', 'printf "%s|%s|%s\\n" "$#" "$1" "$2"');
    await started(commandWith([path, '{organization}', 'prefix/{reference}']));
    expect((await set('apps/db')).status).toBe(200);
    expect(await handed('web1')).toEqual(['2|default|prefix/apps/db']);
  });

  test.each([
    ['fails', 'echo the-secret-value >&2; exit 4', 'ended with exit code 4'],
    ['prints too much', 'head -c 100000 /dev/zero | tr "\\0" x', 'printed more than 8192 bytes'],
    ['prints nothing', 'true', 'less than 8 bytes'],
    ['does not end', 'exec sleep 60', 'did not end within 0.2 s'],
  ])('one that %s is refused, and what it wrote is not told', async (what, lines, reason) => {
    const limit = what === 'does not end' ? { timeout: 0.2 } : {};
    await started(commandWith([program('get', lines)], limit));
    const { status, text } = await set();
    expect(status).toBe(503);
    expect(text).toContain(reason);
    expect(text).not.toContain('the-secret-value');
  });

  test('one that is not there is said so', async () => {
    await started(commandWith([at('missing')]));
    expect((await set()).text).toContain('is not there');
  });
});

describe('who may name a provider', () => {
  test('admins, as the provider does not know who asks; whom they let use the secret need not be one', async () => {
    await started(vaultWith({}));
    expect((await set(undefined, 'normal user')).status).toBe(403);
    expect(vault.asked).toEqual([]);
    expect((await set()).status).toBe(200);
    await call('PATCH', `${SECRETS}/db_password`, { grant: ['normal'] });
    const { body } = await call('GET', `${SECRETS}/db_password`, undefined, 'normal user');
    expect(body).toMatchObject({ provider: 'vault' });
  });

  test('no organization but those that it is configured for', async () => {
    await started({ vault: { ...vaultWith({}).vault, organizations: ['another'] } });
    const { status, text } = await set();
    expect(status).toBe(400);
    expect(text).toContain('no provider of default');
    expect((await call('GET', '/organizations/default/secret-providers')).body).toEqual([]);
  });

  test('what there is, is listed without where it is', async () => {
    await started(vaultWith({}));
    const { body } = await call('GET', '/organizations/default/secret-providers');
    expect(body).toEqual([{ name: 'vault', type: 'vault' }]);
  });

  test('a value of its own takes the place of a provider, and the other way round', async () => {
    await started(vaultWith({}));
    await set();
    const kept = await call('PUT', `${SECRETS}/db_password`, { value: 'kept-here-instead' });
    expect(kept.body).toMatchObject({ provider: null, reference: null });
    expect(await handed('web1')).toEqual(['kept-here-instead']);
    await set();
    expect(await handed('web2')).toEqual([VALUE]);
  });

  test.each([{}, { value: VALUE, provider: 'vault' }, { provider: 'vault' }, { reference: 'a' }])(
    'a body of %j is refused',
    async (body) => {
      await started(vaultWith({}));
      expect((await call('PUT', `${SECRETS}/db_password`, body)).status).toBe(400);
    },
  );
});

describe('the file of providers', () => {
  test.each([
    ['no object', [], 'expected an object'],
    ['a type that there is not', { a: { type: 'aws' } }, 'a.type must be command or vault'],
    ['no organizations', { a: { type: 'command', command: ['x'] } }, 'organizations'],
    ['a setting that there is not', { a: { type: 'command', organizations: ['o'], command: ['x'], shell: true } }, 'a'],
    [
      'no TLS',
      { a: { type: 'vault', organizations: ['o'], address: 'http://vault.example.org', token_file: 't' } },
      'must begin with https://',
    ],
    [
      'neither a token nor an AppRole',
      { a: { type: 'vault', organizations: ['o'], address: 'https://vault.example.org' } },
      'one of token_file and app_role',
    ],
  ])('with %s is refused at the start', (_, providers, reason) => {
    put('providers.json', JSON.stringify(providers));
    const config = { secrets: { providers: at('providers.json') }, outbound: { private_targets: false } };
    const open = () => openSecretProviders(config as Parameters<typeof openSecretProviders>[0], { clock: systemClock });
    expect(open).toThrow(reason);
  });
});
