import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Personas, sharedKey } from '../../platform/test/support/personas.js';
import type { Client } from '../../platform/test/support/signed-client.js';
import { startTestServer, type TestServer } from './support/test-server.js';

/** Rules to which others have to agree. `writer` makes them; `admin` is somebody else who may agree, and makes services: the event. */

const ORG = '/organizations/default';
const RULES = `${ORG}/rules`;
const POLICIES = `${ORG}/approval-policies`;
const ON = "type = 'auth.service.create' AND target LIKE 'v%'";

let server: TestServer;
let admin: Client;
let writer: Client;
let personas: Personas;
let made = 0;
let name = '';

/** A server that was started again listens elsewhere. */
function clients(): void {
  admin = server.api;
  writer = admin.as(personas.normal);
}

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
  clients();
  // Who follows the event.
  await admin.put(`${ORG}/groups/admins`, { users: ['admin', 'normal-user'] });
});
beforeEach(async () => {
  name = `r${++made}`;
  await store({ command: ['echo', '{{who}}'] });
  await admin.put(`${POLICIES}/all`, {});
});
afterEach(async () => {
  for (const rule of (await admin.get(RULES)).body as { name: string }[]) await admin.delete(`${RULES}/${rule.name}`);
  for (const policy of (await admin.get(POLICIES)).body as { name: string }[]) {
    await admin.delete(`${POLICIES}/${policy.name}`);
  }
});
afterAll(() => server.stop());

/** The runbook of the test, or its next version. */
async function store(definition: object): Promise<void> {
  const whole = { nodes: ['web1', 'web2'], runners: ['admin'], parameters: { who: { type: 'string' } }, ...definition };
  const path = `${ORG}/runbooks`;
  const made = await writer.post(path, { name, ...whole });
  if (made.status === 201) return;
  const changed = await writer.put(`${path}/${name}`, whole);
  expect(changed.status, changed.text).toBe(200);
}

interface Waiting {
  readonly approval: string;
  readonly hash: string;
}

const work = () => ({ runbook: { name, parameters: { who: '{target}' }, node: 'web2' } });
const create = (more: object = {}, by = writer) =>
  by.post(RULES, { name, on: ON, asks: 'once', ...work(), at_most: { runs: 100, seconds: 60 }, ...more });
const change = (body: object, by = writer) => by.call('PATCH', `${RULES}/${name}`, { body });
const show = async () => (await admin.get(`${RULES}/${name}`)).body as Record<string, unknown>;
const approval = async (id: string) => (await admin.get(`${ORG}/approvals/${id}`)).body as Record<string, unknown>;

async function waiting(asked: ReturnType<typeof create>): Promise<Waiting> {
  const { status, text, body } = await asked;
  expect(status, text).toBe(202);
  return body as Waiting;
}

async function grant({ approval: id, hash }: Waiting, by = admin): Promise<string> {
  const { status, headers } = await by.post(`${ORG}/approvals/${id}/grant`, { hash });
  return `${status} ${headers.get('x-muster-error') ?? ''}`.trim();
}

/** Makes the event happen, and answers what came of it: a push job, or an approval that waits. */
async function happens(): Promise<'approval' | 'job'> {
  type Run = { readonly outcome: string; readonly run: string | null; readonly reason: string | null };
  const before = ((await admin.get(`${RULES}/${name}/runs`)).body as readonly Run[]).length;
  const { publicKey: public_key } = sharedKey();
  expect((await admin.post(`${ORG}/services`, { name: `v${++made}`, public_key })).status).toBe(201);
  const runs = async () => (await admin.get(`${RULES}/${name}/runs`)).body as readonly Run[];
  await expect.poll(async () => (await runs()).length).toBe(before + 1);
  const { outcome, run, reason } = (await runs())[0] ?? { outcome: null, run: null, reason: null };
  const job = await admin.get(`${ORG}/pushy/jobs/${run}`);
  if (job.status === 200) {
    expect([outcome, reason]).toEqual(['started', null]);
    return 'job';
  }
  expect([outcome, reason]).toEqual(['asked', 'it waits until others agree (muster approval list)']);
  expect(await approval(String(run))).toMatchObject({ kind: 'runbook', status: 'pending' });
  return 'approval';
}

describe('a rule to which others have to agree', () => {
  it('is not there before, is made as it was granted, and its runs wait for nobody', async () => {
    const asked = await waiting(create());
    expect((await admin.get(`${RULES}/${name}`)).status).toBe(404);
    expect(await approval(asked.approval)).toMatchObject({
      ...{ kind: 'rule', rule: name, asked_by: 'normal-user', job: null },
      command: 'echo {{who}}',
      target: `2 named nodes, on ${ON}`,
      order: {
        before: null,
        rule: { selector: ON },
        runbook: { version: 1, definition: { command: ['echo', '{{who}}'] } },
      },
    });
    expect(await grant(asked, writer)).toBe('403 approval_own');
    expect(await grant(asked)).toBe('200');
    expect(await grant(asked)).toBe('200');
    expect(await show()).toMatchObject({ owner: 'normal-user', asks: 'once', approval: asked.approval, enabled: true });
    expect(await happens()).toBe('job');
    expect(await happens()).toBe('job');
    await server.restart();
    clients();
    expect(await happens()).toBe('job');
    const audit = (await admin.get(`${ORG}/audit?action=rule.create&limit=1`)).body;
    expect(audit).toMatchObject([{ target: name, detail: { approval: asked.approval } }]);
  });

  it('that asks at each event is made at once, and each of its runs waits', async () => {
    expect((await create({ asks: 'each' })).status).toBe(201);
    expect(await show()).toMatchObject({ asks: 'each', approval: null });
    expect(await happens()).toBe('approval');
    // From then on once: that is asked for.
    expect(await grant(await waiting(change({ asks: 'once' })))).toBe('200');
    expect(await happens()).toBe('job');
    expect((await change({ asks: 'each' })).status).toBe(200);
    expect(await happens()).toBe('approval');
  });

  it('shows of each run what was decided, by whom, and the job that was started', async () => {
    const last = async () => ((await admin.get(`${RULES}/${name}/runs`)).body as { run: string }[])[0];
    await create({ asks: 'each' });
    expect(await happens()).toBe('approval');
    const granted = (await last())?.run ?? '';
    expect(await grant({ approval: granted, hash: String((await approval(granted)).hash) })).toBe('200');
    const { job } = await approval(granted);
    expect(await last()).toMatchObject({
      ...{ outcome: 'started', run: job, reason: `granted by admin (approval ${granted})` },
    });
    expect(await happens()).toBe('approval');
    const denied = (await last())?.run ?? '';
    expect((await admin.post(`${ORG}/approvals/${denied}/deny`, { reason: 'not now' })).status).toBe(200);
    expect(await last()).toMatchObject({ outcome: 'denied', run: denied, reason: 'denied by admin: not now' });
  });

  it('is asked about again when anything of it is changed, and goes on as it was until then', async () => {
    const first = await waiting(create());
    expect(await grant(first)).toBe('200');
    const other = { runbook: { ...work().runbook, parameters: { who: 'root' } } };
    const asked = await waiting(change(other));
    await waiting(change({ on: "type = 'x'" }));
    await waiting(change({ at_most: { runs: 1, seconds: 1 } }));
    expect(await show()).toMatchObject({
      on: ON,
      approval: first.approval,
      runbook: { parameters: { who: '{target}' } },
    });
    expect(await happens()).toBe('job');
    expect(await grant(asked)).toBe('200');
    expect(await show()).toMatchObject({ approval: asked.approval, runbook: { parameters: { who: 'root' } } });
  });

  it('is not made or changed from an approval that is not of how things stand', async () => {
    const [one, two] = [await waiting(create()), await waiting(create())];
    expect(await grant(one)).toBe('200');
    expect(await grant(two)).toBe('409 approval_void');
    const [first, late] = [await waiting(change({ on: "type = 'x'" })), await waiting(change({ on: "type = 'y'" }))];
    expect(await grant(first)).toBe('200');
    expect(await grant(late)).toBe('409 approval_void');
    const old = await waiting(change({ on: ON }));
    await store({ command: ['rm', '{{who}}'] });
    expect(await grant(old)).toBe('409 approval_void');
  });

  it('is made once when two agree at the same moment', async () => {
    const asked = await waiting(create());
    await admin.post('/users', { name: 'second', public_key: sharedKey().publicKey, organization: 'default' });
    await admin.put(`${ORG}/groups/admins`, { users: ['admin', 'normal-user', 'second'] });
    const second = admin.as({ name: 'second', privateKey: sharedKey().privateKey });
    const outcomes = await Promise.all([grant(asked), grant(asked, second)]);
    expect(outcomes.sort()).toEqual(['200', '409 approval_decided']);
    expect((await admin.get(RULES)).body).toHaveLength(1);
  });

  it('asks at each event again once its runbook is another one', async () => {
    expect(await grant(await waiting(create()))).toBe('200');
    expect(await happens()).toBe('job');
    await store({ command: ['rm', '{{who}}'] });
    expect(await happens()).toBe('approval');
    expect(await grant(await waiting(change({ at_most: { runs: 9, seconds: 60 } })))).toBe('200');
    expect(await happens()).toBe('job');
  });

  it('asks at each event again while policies want something else than was agreed to', async () => {
    expect(await grant(await waiting(create()))).toBe('200');
    await admin.put(`${POLICIES}/web`, { by: ['group:admins'] });
    expect(await happens()).toBe('approval');
    await admin.delete(`${POLICIES}/web`);
    expect(await happens()).toBe('job');
  });

  it('asks for what its runbook wants, and for what policies want of one node when it runs on one', async () => {
    await admin.put(`${POLICIES}/all`, { above: 1 });
    expect((await create()).status).toBe(201);
    await waiting(change({ runbook: { ...work().runbook, node: null } }));
    await store({ command: ['echo', '{{who}}'], approval: { by: ['admin'] } });
    const asked = await waiting(change({ asks: 'once', at_most: { runs: 9, seconds: 60 } }));
    expect(await approval(asked.approval)).toMatchObject({ needs: [{ why: `runbook ${name}`, by: ['admin'] }] });
    expect(await grant(asked)).toBe('200');
    expect(await happens()).toBe('job');
  });
});

describe('a rule', () => {
  const token = async () => {
    const { body } = await writer.post('/access_tokens', {});
    return admin.as({ token: (body as { token: string }).token });
  };

  it('is switched off by whoever may change it, also with a token, and stays whose it is; on only with a key', async () => {
    const asked = await waiting(create());
    expect(await grant(asked)).toBe('200');
    const by = await token();
    expect((await by.post(`${RULES}/${name}/off`, undefined)).status).toBe(200);
    expect(await show()).toMatchObject({ enabled: false, owner: 'normal-user', approval: asked.approval });
    const on = await change({ enabled: true }, by);
    expect([on.status, on.headers.get('x-muster-error')]).toEqual([403, 'signature_required']);
    // As others agreed to it.
    expect((await change({ enabled: true })).status).toBe(200);
    expect(await happens()).toBe('job');
    expect((await change({ enabled: false }, admin)).status).toBe(200);
    expect(await show()).toMatchObject({ enabled: false, owner: 'normal-user', approval: asked.approval });
    // With the rights of somebody else it would be another one.
    await waiting(change({ enabled: true }, admin));
  });

  it('that was changed while it was off is asked about when it is switched on', async () => {
    expect((await create({ enabled: false })).status).toBe(201);
    expect((await change({ on: `${ON} AND actor <> 'nobody'` })).status).toBe(200);
    const asked = await waiting(change({ enabled: true }));
    expect(await show()).toMatchObject({ enabled: false, approval: null });
    expect(await grant(asked)).toBe('200');
    expect(await show()).toMatchObject({ enabled: true, approval: asked.approval });
    expect((await change({ enabled: false })).status).toBe(200);
    expect((await change({ at_most: { runs: 1, seconds: 1 } })).status).toBe(200);
    await waiting(change({ enabled: true }));
  });
});
