import { SealingKey } from '@muster/platform/secrets';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { issue, newIssuer, wso2 } from '../../../platform/test/support/jwt.js';
import { ME } from '../../../platform/test/support/personas.js';
import type { WorkerState } from '../../src/worker/worker-rows.js';
import { WC } from '../support/apps.js';
import { type CatalogServer, startCatalog } from '../support/catalog-server.js';
import { addWorker } from '../support/worker-rows.js';

let server: CatalogServer;
beforeAll(async () => {
  server = await startCatalog();
});
afterAll(async () => server.close());

const ORG = '/organizations/acme';
const APPS = `${ORG}/apps/v2`;
const SYSTEMS = `${ORG}/systems/v2`;
const QUEUES = `${ORG}/job-queues`;
const PREFIX = 'aloe.jobq.acme.submit.';
const KEY = '-----BEGIN OPENSSH PRIVATE KEY-----\nnot-shown\n-----END OPENSSH PRIVATE KEY-----\n';
const HPC = {
  name: 'hpc1',
  type: 'ssh',
  scheduler: 'slurm',
  host: 'login1.example.com',
  user: 'jobs',
  private_key: KEY,
  root: '/scratch/jobs/',
  queues: [{ name: 'normal', default: true, max_nodes: 4, max_run_time: '24:00:00', max_memory: '64GB' }],
};
const gateway = newIssuer();

describe('apps', () => {
  test('are registered, shown, listed, disabled and deleted, in the envelope', async () => {
    const made = await server.send({ method: 'POST', path: APPS, body: WC });
    expect(made.status).toBe(201);
    expect(made.json).toMatchObject({ status: 'success', message: null, version: '2.4.0' });
    expect(made.result).toMatchObject({
      id: 'wc-1.0',
      revision: 1,
      owner: 'admin',
      defaultMemoryPerNode: 1.5,
      defaultMaxRunTime: '02:00:00',
      inputs: [{ id: 'query1', value: { default: 'in/a.txt' }, semantics: { maxCardinality: 2 } }],
      _links: { self: { href: expect.stringMatching(/^http:.*\/organizations\/acme\/apps\/v2\/wc-1\.0$/) } },
    });
    const listed = await server.send({ path: `${APPS}?filter=id,isPublic&pretty=true`, as: 'jdoe' });
    expect(listed.result).toEqual([{ id: 'wc-1.0', isPublic: true }]);
    const disabled = await server.send({ method: 'PUT', path: `${APPS}/wc-1.0`, body: { action: 'disable' } });
    expect(disabled.result).toMatchObject({ available: false });
    const gone = await server.send({ method: 'DELETE', path: `${APPS}/wc-1.0` });
    expect([gone.status, gone.json.status]).toEqual([200, 'success']);
    const missing = await server.send({ path: `${APPS}/wc-1.0` });
    expect([missing.status, missing.json]).toMatchObject([
      404,
      { status: 'error', message: expect.stringContaining('wc-1.0') },
    ]);
  });

  test('that were shown can be sent back, as another revision of the same', async () => {
    const first = await server.send({ method: 'POST', path: APPS, body: WC });
    const again = await server.send({ method: 'POST', path: `${APPS}/wc-1.0`, body: first.result });
    expect(again.status).toBe(200);
    expect(again.result).toMatchObject({ uuid: first.result.uuid, revision: 2, inputs: first.result.inputs });
    expect(again.result.parameters).toEqual(first.result.parameters);
  });

  test('that are not public are seen by their owner and by administrators', async () => {
    await server.send({ method: 'POST', path: APPS, body: { ...WC, version: '2.0', isPublic: false } });
    expect((await server.send({ path: `${APPS}/wc-2.0`, as: 'jdoe' })).status).toBe(404);
    expect((await server.send({ path: `${APPS}/wc-2.0`, as: 'root' })).status).toBe(200);
    const ids = (await server.send({ path: APPS, as: 'jdoe' })).result.map(({ id }: { id: string }) => id);
    expect(ids).not.toContain('wc-2.0');
  });

  test('are listed by whether they are public, and by nothing that does not narrow', async () => {
    await server.send({ method: 'POST', path: APPS, body: { ...WC, version: '4.0' } });
    await server.send({ method: 'POST', path: APPS, body: { ...WC, version: '4.1', isPublic: false } });
    const ids = async (query: string) =>
      (await server.send({ path: `${APPS}?${query}` })).result
        .map(({ id }: { id: string }) => id)
        .filter((id: string) => id.startsWith('wc-4'));
    expect(await ids('')).toEqual(['wc-4.0', 'wc-4.1']);
    expect(await ids('publicOnly=true')).toEqual(['wc-4.0']);
    expect(await ids('privateOnly=true')).toEqual(['wc-4.1']);
    expect(await ids('privateOnly=false&publicOnly=false')).toEqual(['wc-4.0', 'wc-4.1']);
    expect(await ids('privateOnly=true&publicOnly=true')).toEqual([]);
    expect(await ids('name.like=WC*')).toEqual(['wc-4.0', 'wc-4.1']);
    expect(await ids('name.like=*w*c*&publicOnly=true')).toEqual(['wc-4.0']);
    expect(await ids('name.like=wc')).toEqual(['wc-4.0', 'wc-4.1']);
    expect(await ids('name.like=wc-4*')).toEqual([]);
    expect(await ids('name.like=w*cc')).toEqual([]);
    for (const [query, named] of [
      ['name.like=', 'name.like'],
      ['publicOnly=perhaps', 'publicOnly'],
      ['publicOnly=true&publicOnly=false', 'publicOnly'],
      ['type=EXECUTION', 'type'],
    ]) {
      const refused = await server.send({ path: `${APPS}?${query}` });
      expect([refused.status, refused.json.message]).toEqual([400, expect.stringContaining(`${named}`)]);
    }
  });

  test('are registered by administrators of jobs alone, and audited', async () => {
    const refused = await server.send({ method: 'POST', path: APPS, body: WC, as: 'jdoe' });
    expect([refused.status, refused.json.status]).toEqual([403, 'error']);
    await server.send({ method: 'POST', path: APPS, body: WC });
    const [entry] = await server.auth.audit.page({ orgId: server.org.id, limit: 1 });
    expect(entry).toMatchObject({ action: 'app.register', target: 'wc-1.0', actor: { name: 'admin' } });
  });

  test('are refused with the field that is wrong, and never fail whatever is sent', async () => {
    const refused = await server.send({ method: 'POST', path: APPS, body: { ...WC, defaultQueue: 7 } });
    expect([refused.status, refused.json.message]).toEqual([400, 'invalid app.defaultQueue: must be text']);
    const scrambled = fc.dictionary(fc.constantFrom(...Object.keys(WC)), fc.jsonValue());
    const bodies = fc.oneof(
      fc.string(),
      fc.json(),
      scrambled.map((change) => JSON.stringify({ ...WC, ...change })),
    );
    await fc.assert(
      fc.asyncProperty(
        bodies,
        fc.constantFrom(APPS, SYSTEMS, `${QUEUES}/import`, `${QUEUES}/test`),
        async (body, path) => {
          const { status } = await server.send({ method: 'POST', path, body });
          expect(status).toBeLessThan(500);
        },
      ),
      { numRuns: 150 },
    );
  });
});

describe('systems', () => {
  test('are registered in our own form, and shown in Agave’s without what opens them', async () => {
    const made = await server.send({ method: 'POST', path: SYSTEMS, body: HPC });
    expect(made.status).toBe(201);
    expect(made.result).toMatchObject({
      id: 'hpc1',
      type: 'EXECUTION',
      status: 'UP',
      scheduler: 'SLURM',
      login: { host: 'login1.example.com', port: 22, protocol: 'SSH', auth: { username: 'jobs' } },
      storage: { rootDir: '/scratch/jobs', protocol: 'SFTP' },
      queues: [{ name: 'normal', maxMemoryPerNode: '64GB', maxRequestedTime: '24:00:00' }],
      muster: { type: 'ssh' },
    });
    expect(made.text).not.toContain('not-shown');
    const system = await server.catalog.systems.find(server.org.id, 'hpc1');
    expect(system === null ? null : await server.catalog.systems.secretOf(system)).toEqual({ privateKey: KEY });
    const { secret } = await server.catalog.store.read
      .selectFrom('job_systems')
      .select('secret')
      .executeTakeFirstOrThrow();
    expect(Buffer.from(secret ?? []).toString('latin1')).not.toContain('not-shown');
  });

  test('are listed by what the list shows of them', async () => {
    for (const name of ['narrow1', 'narrow2']) {
      await server.send({ method: 'POST', path: SYSTEMS, body: { ...HPC, name, default: name === 'narrow2' } });
    }
    const names = async (query: string) =>
      (await server.send({ path: `${SYSTEMS}?${query}` })).result
        .map(({ id }: { id: string }) => id)
        .filter((id: string) => id.startsWith('narrow'));
    const both = ['narrow1', 'narrow2'];
    for (const query of ['', 'type=execution', 'type=STORAGE', 'public=true', 'publicOnly=true', 'privateOnly=false']) {
      expect([query, await names(query)]).toEqual([query, both]);
    }
    for (const query of ['public=false', 'privateOnly=true', 'privateOnly=true&type=storage']) {
      expect([query, await names(query)]).toEqual([query, []]);
    }
    expect(await names('default=TRUE')).toEqual(['narrow2']);
    expect(await names('type=storage&default=true')).toEqual(['narrow2']);
    expect(await names('default=false')).toEqual(['narrow1']);
    for (const query of ['type=CLOUD', 'default=maybe', 'public=2', 'owner=admin']) {
      const refused = await server.send({ path: `${SYSTEMS}?${query}` });
      expect([refused.status, refused.json.message]).toEqual([400, expect.stringContaining(`${query.split('=')[0]}`)]);
    }
    for (const name of both) await server.send({ method: 'DELETE', path: `${SYSTEMS}/${name}` });
  });

  test('are opened with another key once that has sealed anew what the former one sealed', async () => {
    await server.send({ method: 'POST', path: SYSTEMS, body: HPC });
    const { catalog } = server;
    const key = SealingKey.of(new Uint8Array(32).fill(1));
    const { systems } = await catalog.withKey(key);
    const system = await systems.find(server.org.id, 'hpc1');
    if (system === null) throw new Error('no system');
    await expect(systems.secretOf(system)).rejects.toMatchObject({ code: 'secret_unreadable' });
    expect(await systems.rekey(catalog.secrets)).toBeGreaterThan(0);
    expect(await systems.rekey(catalog.secrets)).toBe(0);
    expect(await systems.secretOf(system)).toEqual({ privateKey: KEY });
    await expect(catalog.systems.secretOf(system)).rejects.toMatchObject({ code: 'secret_unreadable' });
    await catalog.systems.rekey(key);
  });

  test('keep their secret when they are changed, but not for another host', async () => {
    const { private_key, ...rest } = HPC;
    const secretAfter = async (body: object) => {
      await server.send({ method: 'POST', path: SYSTEMS, body: HPC });
      await server.send({ method: 'POST', path: `${SYSTEMS}/hpc1`, body });
      const system = await server.catalog.systems.find(server.org.id, 'hpc1');
      return system === null ? null : server.catalog.systems.secretOf(system);
    };
    expect(await secretAfter({ ...rest, root: '/other' })).toEqual({ privateKey: private_key });
    expect(await secretAfter({ ...rest, host: 'evil.example.com' })).toBeNull();
  });

  test('are registered in Agave’s form', async () => {
    const agave = {
      id: 'stampede',
      name: 'Stampede',
      type: 'EXECUTION',
      executionType: 'HPC',
      scheduler: 'SLURM',
      scratchDir: '/scratch',
      default: false,
      maxSystemJobs: -1,
      login: {
        host: 's.example.org',
        port: 2222,
        protocol: 'SSH',
        auth: { username: 'u', password: 'p', type: 'PASSWORD' },
      },
      storage: { host: 's.example.org', protocol: 'SFTP', rootDir: '/home/u' },
      queues: [
        { name: 'normal', default: true, maxNodes: -1, maxRequestedTime: '48:00:00', customDirectives: '#SBATCH -A x' },
      ],
    };
    const made = await server.send({ method: 'POST', path: SYSTEMS, body: agave });
    expect([made.status, made.result.login.port, made.result.scratchDir]).toEqual([201, 2222, 'scratch']);
    expect(made.result.queues).toMatchObject([{ maxNodes: 0, customDirectives: '#SBATCH -A x' }]);
  });

  test('have one default system, and are enabled and disabled', async () => {
    const act = (name: string, action: string) =>
      server.send({ method: 'PUT', path: `${SYSTEMS}/${name}`, body: { action } });
    for (const name of ['d1', 'd2'])
      await server.send({ method: 'POST', path: SYSTEMS, body: { ...HPC, name, default: true } });
    const defaults = async () =>
      (await server.send({ path: `${SYSTEMS}?default=true`, as: 'jdoe' })).result.map((one: { id: string }) => one.id);
    expect(await defaults()).toEqual(['d2']);
    await act('d1', 'setDefault');
    expect(await defaults()).toEqual(['d1']);
    expect((await act('d1', 'disable')).result).toMatchObject({ status: 'DOWN', available: false });
    expect((await act('d1', 'explode')).json.message).toContain('invalid action: must be one of enable');
    expect((await act('nowhere', 'enable')).status).toBe(404);
  });

  test('of this very host are defined by server administrators alone', async () => {
    const body = { name: 'here', type: 'local', root: '/var/lib/muster/work' };
    expect((await server.send({ method: 'POST', path: SYSTEMS, body })).status).toBe(403);
    expect((await server.send({ method: 'POST', path: SYSTEMS, body, as: 'root' })).status).toBe(201);
  });

  test.each<[string, object]>([
    ['system.root: must be an absolute path without ..', { root: 'scratch' }],
    ['system.root: it is missing: the directory of ', { root: undefined }],
    ['system.root: must be an absolute path without ..', { root: '/a/../etc' }],
    ['system.scratch: must be a path below root', { scratch: '/x' }],
    ['system.type: must be one of local, ssh, agent, tasks', { type: 'cloud' }],
    ['system.node: a system of type ssh has none', { node: 'web1' }],
    ['system.node: it is missing', { type: 'agent' }],
    ['system.host: a system of type agent has none', { type: 'agent', node: 'web1' }],
    ['system.scheduler: must be one of fork, slurm', { scheduler: 'pbs' }],
    ['system.host: it is missing', { host: null }],
    ['system.host: must be the name or address', { host: '-oProxyCommand=x' }],
    ['system.user: must be the name of a user', { user: '-x' }],
    ['system.host_key: must be the SHA-256', { host_key: 'abc' }],
    ['system.queue: a system of type ssh has none', { queue: 'render' }],
    ['system.queues.1.name: there is another', { queues: [{ name: 'a' }, { name: 'a' }] }],
    [
      'system.queues.1.default: only one',
      {
        queues: [
          { name: 'a', default: true },
          { name: 'b', default: true },
        ],
      },
    ],
    ['system.queues.0.directives.0: must be a directive', { queues: [{ name: 'a', directives: ['rm -rf /'] }] }],
    ['system.queues.0.max_run_time: must be a time', { queues: [{ name: 'a', max_run_time: 'long' }] }],
    ['system.passphrase', { passphrase: 7 }],
    ['system.colour: there is no such field', { colour: 'red' }],
  ])('are refused: %s', async (expected, change) => {
    const refused = await server.send({ method: 'POST', path: SYSTEMS, body: { ...HPC, ...change } });
    expect([refused.status, refused.json.message]).toEqual([400, expect.stringContaining(`invalid ${expected}`)]);
  });
});

describe('job queues', () => {
  const LONG = { name: `${PREFIX}Long`, tenantId: 'acme', priority: 5, filter: 'maxHours >= 24 OR hour < 6' };

  test('are imported, listed, changed, tested, counted and deleted', async () => {
    await server.send({ method: 'POST', path: SYSTEMS, body: HPC });
    await server.send({ method: 'POST', path: APPS, body: { ...WC, executionSystem: 'hpc1', defaultQueue: null } });
    const imported = await server.send({ method: 'POST', path: `${QUEUES}/import?file=acme.json`, body: [LONG] });
    expect([imported.status, imported.json]).toMatchObject([200, [LONG]]);
    expect((await server.send({ path: QUEUES })).json).toMatchObject([
      LONG,
      { name: `${PREFIX}DefaultQueue`, priority: 1 },
    ]);
    const put = await server.send({
      method: 'PUT',
      path: `${QUEUES}/Long`,
      body: { priority: 7, filter: LONG.filter },
    });
    expect(put.json).toMatchObject({ name: LONG.name, priority: 7 });
    const body = { appId: 'wc-1.0', name: 'x', archive: false, maxRunTime: '02:00:00' };
    const tried = (at: string) => server.send({ method: 'POST', path: `${QUEUES}/test?at=${at}`, body, as: 'jdoe' });
    expect((await tried('2026-11-23T05:59:00Z')).json).toMatchObject({
      queue: LONG.name,
      byDefault: false,
      filters: [{ matched: true, values: { hour: 5, maxHours: 2 } }, { asked: false }],
    });
    expect((await tried('2026-11-23T06:00:00Z')).json).toMatchObject({
      queue: `${PREFIX}DefaultQueue`,
      byDefault: false,
    });
    expect((await server.send({ path: `${QUEUES}/stats` })).json).toMatchObject([
      { name: LONG.name, ready: 0, held: 0, slots: 0, jobs: {} },
      {},
    ]);
    // In whatever process they are; who is suspended or lost takes nothing.
    const { store, recorder } = server.catalog;
    const worker = (name: string, state: WorkerState, slots: number, holds = true): Promise<void> =>
      addWorker({ ...server, store, recorder }, { uuid: name, name, state, slots, queue: LONG.name }, holds);
    await worker('w1', 'running', 4);
    await worker('w2', 'running', 20);
    await worker('w3', 'suspended', 7);
    await worker('w4', 'running', 9, false);
    expect((await server.send({ path: `${QUEUES}/stats` })).json).toMatchObject([
      { name: LONG.name, slots: 24 },
      { slots: 0 },
    ]);
    expect((await server.send({ method: 'DELETE', path: `${QUEUES}/Long` })).status).toBe(204);
    expect((await server.send({ path: QUEUES })).json).toHaveLength(1);
  });

  test('are administered by administrators of jobs alone', async () => {
    expect((await server.send({ path: QUEUES, as: 'jdoe' })).status).toBe(403);
    expect((await server.send({ method: 'PUT', path: `${QUEUES}/Long`, body: LONG, as: 'jdoe' })).status).toBe(403);
  });

  test('are not imported from what is no file of definitions: JOBS_QUEUE_DEFINITIONS_LOAD_ERROR', async () => {
    const refused = await server.send({ method: 'POST', path: `${QUEUES}/import`, body: '[{' });
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('JOBS_QUEUE_DEFINITIONS_LOAD_ERROR')]);
  });

  test('are not stored for an organization that is gone: JOBS_TENANT_NOT_FOUND_FOR_QUEUE', async () => {
    const gone = { id: 'f'.repeat(32), name: 'gone' };
    const definition = { name: 'aloe.jobq.gone.submit.Long', priority: 5, filter: 'archive' };
    await expect(
      server.catalog.queues.put(gone, [definition], [server.auth.organizations.present(gone)]),
    ).rejects.toThrow("JOBS_TENANT_NOT_FOUND_FOR_QUEUE there is no organization 'gone'");
  });
});

describe('logins', () => {
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  const list = (headers: Readonly<Record<string, string>>, path = '/apps/v2') =>
    server.send({ path, as: null, headers });
  const jwt = (claims: Readonly<Record<string, unknown>>) => issue(gateway, server.clock.now(), claims);

  beforeAll(async () => {
    const about = {
      name: 'gateway',
      kind: 'public_key',
      source: gateway.publicKey,
      issuer: 'https://gateway',
    } as const;
    await server.auth.issuers.create(
      server.org,
      { ...about, audience: null, userClaim: null, tenant: null, signIn: null, ldap: null },
      ME,
    );
  });

  test('without any are refused in the envelope, with 401', async () => {
    for (const path of ['/apps/v2', '/systems/v2', APPS]) {
      const refused = await list({}, path);
      expect([refused.status, refused.json.status, refused.headers.get('www-authenticate')]).toEqual([
        401,
        'error',
        'Bearer',
      ]);
    }
  });

  test('by an access token go to the organization that it records, or to the only one', async () => {
    const token = async (name: string, organization?: typeof server.org) =>
      (
        await server.auth.tokens.createAccessToken(
          { bearer: { organization: null, name }, ttlSeconds: 60, ...(organization && { organization }) },
          ME,
        )
      ).token;
    const home = async (headers: Readonly<Record<string, string>>) =>
      (await list(headers, '/systems/v2')).result?.map(({ id }: { id: string }) => id);
    await server.send({ method: 'POST', path: SYSTEMS, body: { ...HPC, name: 'ours' } });
    expect(await home(bearer(await token('jdoe')))).toContain('ours');
    expect(await home(bearer(await token('anna', server.org)))).toContain('ours');
    expect(await home(bearer(await token('anna', server.other)))).toEqual([]);
    const unclear = await list(bearer(await token('anna')));
    expect([unclear.status, unclear.json.message]).toEqual([
      400,
      expect.stringContaining("JOBS_NO_TENANT_ID 'anna' belongs to 2 organizations"),
    ]);
    await expect(token('jdoe', server.other)).rejects.toThrow('not associated');
  });

  test('by a signature go to the only organization of the user', async () => {
    expect((await server.send({ path: '/apps/v2?limit=1', as: 'jdoe' })).status).toBe(200);
    expect((await server.send({ path: '/apps/v2', as: 'anna' })).status).toBe(400);
    expect((await server.send({ path: '/apps/v2', as: 'nobody' })).status).toBe(401);
  });

  test('by a token of an issuer are of the member, or of somebody with what any member may', async () => {
    const claims = { sub: 'jdoe', iss: 'https://gateway' };
    expect((await list(bearer(await jwt(claims)))).status).toBe(200);
    expect((await list(bearer(await jwt(claims)), APPS)).status).toBe(200);
    expect((await list(bearer(await jwt({ ...claims, sub: 'visitor' })))).status).toBe(200);
    const asVisitor = bearer(await jwt({ ...claims, sub: 'visitor' }));
    expect(
      (await server.send({ method: 'POST', path: '/apps/v2', body: WC, as: null, headers: asVisitor })).status,
    ).toBe(403);
    const asAdmin = bearer(await jwt({ ...claims, sub: 'admin' }));
    expect((await server.send({ method: 'POST', path: '/apps/v2', body: WC, as: null, headers: asAdmin })).status).toBe(
      201,
    );
    const local = { name: 'h', type: 'local', root: '/x' };
    const asRoot = bearer(await jwt({ ...claims, sub: 'root' }));
    expect(
      (await server.send({ method: 'POST', path: '/systems/v2', body: local, as: null, headers: asRoot })).status,
    ).toBe(403);
    expect((await list(bearer(await jwt(claims)), '/organizations/other/apps/v2')).status).toBe(401);
  });

  test('by an assertion are of the tenant that the header names (sheet §8.2)', async () => {
    const given = { ...wso2('jdoe@carbon.super', 'acme'), iss: 'https://gateway' };
    expect((await list({ 'X-JWT-Assertion-ACME': await jwt(given) })).status).toBe(200);
    const refused = await list({ 'x-jwt-assertion-other': await jwt(given) });
    expect([refused.status, refused.json.status]).toEqual([401, 'error']);
    expect((await list({ 'x-jwt-assertion-acme': '' })).status).toBe(401);
    const token = await jwt(given);
    expect((await list({ 'x-jwt-assertion-acme': token, 'x-jwt-assertion-other': token })).status).toBe(401);
  });

  test('by a token that is not good are refused, and it is not repeated', async () => {
    const token = await issue(newIssuer(), server.clock.now(), { sub: 'jdoe', iss: 'https://gateway' });
    for (const headers of [bearer(token), { 'x-jwt-assertion-acme': token }]) {
      const refused = await list(headers);
      expect(refused.status).toBe(401);
      expect(refused.text).not.toContain(token.slice(0, 20));
    }
  });

  test('that are refused say why by the codes of clients (sheet §8.2)', async () => {
    const said = async (headers: Readonly<Record<string, string>>, path = '/apps/v2') => {
      const { status, json } = await list(headers, path);
      return [status, json.status, json.message.split(' ')[0]];
    };
    const missing = [401, 'error', 'ALOE_SECURITY_MISSING_JWT_INFO'];
    const wrong = [401, 'error', 'ALOE_SECURITY_JWT_DECODE_ERROR'];
    expect(await said({})).toEqual(missing);
    expect(await said({}, APPS)).toEqual(missing);
    expect((await list({}, APPS)).json.message).toContain('Send `Authorization: Bearer TOKEN`');
    expect(await said({ 'x-jwt-assertion-acme': '' })).toEqual(missing);
    const strange = await issue(newIssuer(), server.clock.now(), wso2('jdoe', 'acme', { iss: 'https://gateway' }));
    const token = await jwt(wso2('jdoe', 'acme', { iss: 'https://gateway' }));
    for (const assertion of ['nonsense', 'a.b.c', strange, `${token.slice(0, -8)}AAAAAAAA`]) {
      expect(await said({ 'x-jwt-assertion-acme': assertion })).toEqual(wrong);
      expect(await said(bearer(assertion.includes('.') ? assertion : `${assertion}.b.c`))).toEqual(wrong);
    }
    expect(await said({ 'x-jwt-assertion-nobody': token })).toEqual(wrong);
    const expired = await jwt(wso2('jdoe', 'acme', { iss: 'https://gateway', exp: 1 }));
    expect(await said({ 'x-jwt-assertion-acme': expired })).toEqual(wrong);
  });

  test('by a token of an issuer are taken nowhere else', async () => {
    const token = await jwt({ sub: 'jdoe', iss: 'https://gateway' });
    for (const path of ['/organizations/acme/groups', '/organizations', '/users/jdoe']) {
      expect((await list(bearer(token), path)).status).toBeGreaterThanOrEqual(400);
    }
  });

  test('never fail, whatever is sent for one', async () => {
    const text = fc.stringMatching(/^[\x21-\x7e]{0,200}$/);
    await fc.assert(
      fc.asyncProperty(
        text,
        fc.constantFrom('authorization', 'x-jwt-assertion-acme', 'x-jwt-assertion-'),
        async (value, name) => {
          const { status } = await list({ [name]: name === 'authorization' ? `Bearer ${value}` : value });
          expect(status).toBeGreaterThanOrEqual(400);
          expect(status).toBeLessThan(500);
        },
      ),
      { numRuns: 100 },
    );
  });
});
