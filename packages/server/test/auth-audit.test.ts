import { ManualClock } from '@muster/base';
import { ChainReader, type Seal } from '@muster/signing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { newKey, type Personas, sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

let server: TestServer;
let personas: Personas;
let api: Client;
const clock = new ManualClock();

beforeAll(async () => {
  server = await startTestServer({ clock });
  personas = await server.personas();
  api = server.api;
});
afterAll(() => server.stop());

interface Entry {
  readonly id: number;
  readonly actor: string;
  readonly actor_kind: string;
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly detail: Readonly<Record<string, unknown>>;
}

async function audit(query = ''): Promise<readonly Entry[]> {
  const answer = await api.get(`/organizations/default/audit${query}`);
  expect(answer.status, answer.text).toBe(200);
  return answer.body as readonly Entry[];
}

const groups = '/organizations/default/groups';

describe('the audit', () => {
  it('has the first start', async () => {
    const [first] = await audit('?after=0&limit=1');
    expect(first).toMatchObject({
      actor: 'muster',
      actor_kind: 'server',
      action: 'server.bootstrap',
      target: 'admin',
      outcome: 'done',
    });
  });

  it('has every change of identity, with who made it', async () => {
    await api.put(`${groups}/ops`, { users: ['normal-user'] });
    const [newest] = await audit('?limit=1');
    expect(newest).toMatchObject({ actor: 'admin', action: 'group.set', target: 'ops', outcome: 'done' });
    expect(newest?.detail).toMatchObject({ users: 'normal-user' });
  });

  it('has nothing of a change that was refused', async () => {
    const before = await audit('?limit=1');
    await api.post('/organizations/default/nodes', { name: 'member-client', public_key: sharedKey().publicKey });
    expect(await audit('?limit=1')).toEqual(before);
  });

  it.each([
    ['permission', 'forbidden', () => api.as(personas.normal).put(`${groups}/ops`, {})],
    ['signature', 'invalid_signature', () => api.as(personas.bogusClient).get(groups)],
    ['principal', 'unknown_principal', () => api.as(personas.invalid).get(groups)],
    ['membership', 'not_associated', () => api.as(personas.outside).get(groups)],
    [
      'enrolment token',
      'invalid_token',
      () =>
        api
          .as(null)
          .post('/organizations/default/enroll', { token: 'x', name: 'n', public_key: sharedKey().publicKey }),
    ],
  ])('has every denial: %s', async (_what, code, request) => {
    await request();
    const newest = () => audit('?action=access.denied&limit=1');
    await expect.poll(newest).toMatchObject([{ outcome: 'denied', detail: { code } }]);
  });

  it('has starts of jobs', async () => {
    const started = await api.post('/organizations/default/pushy/jobs', { command: 'uptime', nodes: ['n1'] });
    const target = (started.body as { id: string }).id;
    await expect.poll(() => audit('?action=push.start&limit=1')).toMatchObject([{ actor: 'admin', target }]);
  });

  it('is filtered by actor and action', async () => {
    const entries = await audit('?actor=normal-user&action=access.denied');
    expect(entries.length).toBeGreaterThan(0);
    expect(new Set(entries.map(({ actor }) => actor))).toEqual(new Set(['normal-user']));
  });

  it('tells a user and a service of one name apart, and both from who only claims it', async () => {
    const { publicKey, privateKey } = newKey();
    await api.post('/users', { name: 'twin', public_key: publicKey, organization: 'default' });
    await api.post('/organizations/default/services', { name: 'twin', public_key: sharedKey().publicKey });
    const denied = async (as: Client, code: string, kind: string) => {
      expect((await as.put(`${groups}/ops`, {})).body).toMatchObject({ error: expect.anything() });
      const entries = () => audit(`?actor=twin&actor_kind=${kind}`);
      await expect.poll(entries).toMatchObject([{ actor: 'twin', actor_kind: kind, detail: { code } }]);
    };
    await denied(api.as({ name: 'twin', privateKey }), 'forbidden', 'user');
    await denied(api.as({ name: 'twin', privateKey: sharedKey().privateKey }), 'forbidden', 'service');
    await denied(api.as({ name: 'twin', privateKey: newKey().privateKey }), 'invalid_signature', 'claimed');
    expect(await audit('?actor=twin')).toHaveLength(3);
    expect((await api.get('/organizations/default/audit?actor_kind=client')).status).toBe(400);
  });

  it('is paged both ways', async () => {
    const newest = await audit('?limit=4');
    const ids = newest.map(({ id }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => b - a));
    const older = await audit(`?limit=2&before=${ids[1]}`);
    expect(older.map(({ id }) => id)).toEqual(ids.slice(2, 4));
    const later = await audit(`?after=${ids[2]}`);
    expect(later.map(({ id }) => id).slice(0, 2)).toEqual([ids[1], ids[0]]);
  });

  it('is for admins', async () => {
    expect((await api.as(personas.normal).get('/organizations/default/audit')).status).toBe(403);
    expect((await api.as(personas.adminClient).get('/organizations/default/audit')).status).toBe(200);
  });

  it('of the whole server is for its admins, and no part of that of an organization', async () => {
    const found = (await api.get('/audit?action=user.create&limit=1')).body;
    expect(found).toMatchObject([{ target: 'outside-user', outcome: 'done' }]);
    expect((await audit('?action=user.create')).map(({ target }) => target)).not.toContain('outside-user');
    expect((await api.as(personas.adminClient).get('/audit')).status).toBe(401);
    expect((await api.as(personas.normal).get('/audit')).status).toBe(403);
  });

  it('of the whole server is sealed in a chain of its own, for its admins', async () => {
    interface Page {
      readonly public_key: string;
      readonly organization_id: string;
      readonly seals: readonly { readonly seal: Seal; readonly entries: readonly string[] }[];
    }
    const page = async () => (await api.get('/audit/seals')).body as Page;
    await expect
      .poll(async () => {
        clock.advance(1000);
        return (await page()).seals.length;
      })
      .toBeGreaterThan(0);
    const { public_key: key, organization_id: id, seals } = await page();
    const reader = new ChainReader([key], id);
    for (const { seal, entries } of seals) reader.take(seal, entries);
    const [known] = (await api.get('/audit?after=0&limit=1')).body as readonly Entry[];
    expect([id, JSON.parse(seals[0]?.entries[0] ?? '')]).toEqual(['', known]);
    expect((await api.as(personas.adminClient).get('/audit/seals')).status).toBe(401);
    expect((await api.as(personas.normal).get('/audit/seals')).status).toBe(403);
  });

  it('sums up a flood of strangers, and still hears known callers', async () => {
    const before = (await audit('?limit=1'))[0]?.id ?? 0;
    for (let n = 0; n < 300; n++) await api.as(personas.invalid).get(groups);
    await api.as(personas.normal).put(`${groups}/ops`, {});
    await expect.poll(() => audit('?limit=1')).toMatchObject([{ actor: 'normal-user', outcome: 'denied' }]);
    const kept = (await audit(`?after=${before}&limit=1000`)).filter(({ actor }) => actor === 'invalid');
    expect(kept.length).toBeLessThanOrEqual(200);
    clock.advance(1000);
    await api.as(personas.invalid).get(groups);
    const suppressed_before = 300 - kept.length;
    await expect.poll(() => audit('?actor=invalid&limit=1')).toMatchObject([{ detail: { suppressed_before } }]);
  });
});
