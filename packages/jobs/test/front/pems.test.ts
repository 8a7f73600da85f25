import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issue, newIssuer } from '../../../platform/test/support/jwt.js';
import { ME } from '../../../platform/test/support/personas.js';
import { SEEING } from '../../src/controller/access.js';
import { type FrontServer, startFront } from '../support/front-server.js';
import { newJob } from '../support/jobs.js';

const gateway = newIssuer();
let front: FrontServer;
let id: string;
beforeAll(async () => {
  front = await startFront();
  id = (await front.submit()).id;
});
afterAll(() => front.close());

const post = (path: string, body: unknown, as = 'jdoe', headers = {}) =>
  front.send({ method: 'POST', path, body, as, headers });

describe('permissions (sheet §8.7)', () => {
  it('begin with the owner, who has all', async () => {
    const self = `${front.url}/organizations/default/jobs/v2/${id}`;
    expect(await front.get(`/${id}/pems`)).toEqual([
      {
        username: 'jdoe',
        internalUsername: null,
        permission: { read: true, write: true, execute: true },
        _links: { self: { href: `${self}/pems/jdoe` }, parent: { href: self } },
      },
    ]);
  });

  it.each(SEEING)('%s is granted, 201', async (permission) => {
    const { status, result } = await post(`/${id}/pems/anna`, { permission });
    const all = permission === 'ALL';
    expect(status).toBe(201);
    expect(result.permission).toEqual({
      read: all || permission.startsWith('READ'),
      write: all || permission.includes('WRITE'),
      execute: all || permission.includes('EXECUTE'),
    });
    const seen = (await front.get('/', 'anna')).some((job: { id: string }) => job.id === id);
    expect(seen).toBe(true);
    const readable = all || permission.startsWith('READ');
    expect((await front.send({ path: `/${id}`, as: 'anna' })).status).toBe(readable ? 200 : 403);
    expect((await front.send({ path: `/${id}/pems`, as: 'anna' })).status).toBe(readable ? 200 : 403);
  });

  it.each(['', 'NONE', 'none'])('are taken as a form, too, and taken back by %j: 200', async (none) => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    expect((await post(`/${id}/pems`, 'username=bob&permission=READ', 'jdoe', form)).status).toBe(201);
    expect((await front.get(`/${id}/pems/bob`)).permission.read).toBe(true);
    expect((await post(`/${id}/pems`, `username=bob&permission=${none}`, 'jdoe', form)).status).toBe(200);
    const missing = await front.send({ path: `/${id}/pems/bob` });
    expect([missing.status, missing.message]).toEqual([404, `No permissions found for user bob on job ${id}`]);
    const listed = (await front.get(`/${id}/pems`)).map(({ username }: { username: string }) => username);
    expect(listed).not.toContain('bob');
  });

  it('of the owner stay what they are', async () => {
    const { status, result } = await post(`/${id}/pems/jdoe`, { permission: 'NONE' });
    expect([status, result.permission.write]).toEqual([200, true]);
  });

  it('of world are those of everybody in the organization', async () => {
    const { id: other } = await front.submit();
    await post(`/${other}/pems`, { username: 'world', permission: 'READ' });
    expect((await front.send({ path: `/${other}`, as: 'bob' })).status).toBe(200);
  });

  it.each([
    ['missing', `/ID/pems`, { username: 'anna' }, 400, 'ALOE_NULL_PARAMETER permission'],
    ['unknown', `/ID/pems`, { username: 'anna', permission: 'FLY' }, 400, 'ALOE_INVALID_PARAMETER permission'],
    ['for nobody', `/ID/pems`, { permission: 'READ' }, 400, 'ALOE_NULL_PARAMETER username'],
    ['for two', `/ID/pems/anna`, { username: 'bob', permission: 'READ' }, 400, 'ALOE_INVALID_PARAMETER username'],
    ['without a body', `/ID/pems/anna`, '', 400, 'ALOE_NULL_PARAMETER permission'],
    [
      'of a stranger',
      `/ID/pems`,
      { username: 'nobody', permission: 'READ' },
      404,
      'No user found with username nobody',
    ],
  ])('%s are refused', async (_, path, body, expected, begins) => {
    const { status, message } = await post(path.replace('ID', id), body);
    expect(status).toBe(expected);
    expect(message.startsWith(begins)).toBe(true);
  });

  it.each(['', ' ', 'a b', '-x', 'x/../y', `x${'y'.repeat(255)}`, 'client:', 'client:a b', 'ünal'])(
    'are given to no %j, which is not a name',
    async (username) => {
      const { status, message } = await post(`/${id}/pems`, { username, permission: 'READ' });
      expect([status, message]).toEqual([400, expect.stringMatching(/^ALOE_(INVALID|NULL)_PARAMETER username/)]);
    },
  );

  it('are kept for a user who is known only when a token of an issuer names them (sheet §8.6)', async () => {
    const about = {
      name: 'gateway',
      kind: 'public_key',
      source: gateway.publicKey,
      issuer: 'https://gateway',
    } as const;
    const trusted = { ...about, audience: null, userClaim: null, tenant: null, signIn: null, ldap: null };
    const { id: job } = await front.submit();
    expect((await post(`/${job}/pems/later`, { permission: 'READ' })).status).toBe(404);
    await front.auth.issuers.create(front.org, trusted, ME);
    expect((await post(`/${job}/pems/later`, { permission: 'READ' })).status).toBe(201);
    expect((await post(`/${job}/pems/client:later`, { permission: 'READ' })).status).toBe(404);
    const token = await issue(gateway, front.clock.now(), { sub: 'later', iss: 'https://gateway' });
    const as = (path: string) =>
      fetch(`${front.url}/organizations/default/jobs/v2${path}`, { headers: { authorization: `Bearer ${token}` } });
    expect((await as(`/${job}`)).status).toBe(200);
    expect((await as(`/${id}`)).status).toBe(403);
    await front.send({ method: 'DELETE', path: `/${job}/pems/later` });
    expect((await as(`/${job}`)).status).toBe(403);
  });

  it('are not had by a user whose name is how the jobs of a node or service are owned', async () => {
    await front.jobs.add(newJob('n1-007', { orgId: front.org.id, tenant: 'default', owner: 'client:n1' }), null);
    const named = async (sub: string) => {
      const token = await issue(gateway, front.clock.now(), { sub, iss: 'https://gateway' });
      const headers = { authorization: `Bearer ${token}` };
      return fetch(`${front.url}/organizations/default/jobs/v2/n1-007`, { headers });
    };
    for (const sub of ['client:n1', 'user:client:n1', 'n1'])
      expect([sub, (await named(sub)).status]).toEqual([sub, 403]);
    const body = { username: 'later', permission: 'READ' };
    expect((await post('/n1-007/pems', body, 'admin')).status).toBe(201);
    expect((await named('later')).status).toBe(200);
  });

  it('may be given by its owner, administrators, and who has ALL', async () => {
    const { id: job } = await front.submit();
    expect((await post(`/${job}/pems`, { username: 'bob', permission: 'READ' }, 'anna')).status).toBe(403);
    await post(`/${job}/pems/anna`, { permission: 'READ_WRITE' });
    expect((await post(`/${job}/pems`, { username: 'bob', permission: 'READ' }, 'anna')).status).toBe(403);
    expect((await front.send({ method: 'DELETE', path: `/${job}/pems`, as: 'anna' })).status).toBe(403);
    await post(`/${job}/pems/anna`, { permission: 'ALL' }, 'admin');
    expect((await post(`/${job}/pems`, { username: 'bob', permission: 'READ' }, 'anna')).status).toBe(201);
  });

  it('are deleted one by one or all, and the history says all of it', async () => {
    const { id: job } = await front.submit();
    for (const username of ['anna', 'bob', 'admin']) await post(`/${job}/pems`, { username, permission: 'READ' });
    const remove = async (path: string) => (await front.send({ method: 'DELETE', path })).status;
    const names = async () => (await front.get(`/${job}/pems`)).map((one: { username: string }) => one.username);
    expect(await remove(`/${job}/pems/anna`)).toBe(200);
    expect(await names()).toEqual(['jdoe', 'admin', 'bob']);
    expect(await remove(`/${job}/pems`)).toBe(200);
    expect(await names()).toEqual(['jdoe']);
    const events = (await front.get(`/${job}/history`)).map((entry: { status: string }) => entry.status);
    const granted = Array(3).fill('PERMISSION_GRANT');
    expect(events).toEqual(['ACCEPTED', ...granted, 'PERMISSION_REVOKE', 'PERMISSION_REVOKE']);
  });
});
