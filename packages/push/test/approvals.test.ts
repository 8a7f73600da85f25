import { SealingKey, Secrets } from '@muster/platform/secrets';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { noProviders } from '../../platform/test/support/no-providers.js';
import { ME } from '../../platform/test/support/personas.js';
import { type ApprovalEvent, type ApprovalState, stepApproval } from '../src/approvals/machine.js';
import { hashOf } from '../src/approvals/order.js';
import { rekeyRuns } from '../src/secrets/sealed-runs.js';
import { type PushServer, type Request, startPushServer } from './support/push-server.js';
import { everythingStored } from './support/secrets.js';

describe('an approval', () => {
  const state: ApprovalState = { status: 'pending', askerId: 'asker', expiresAt: 100 };
  const grant = (by: string, same = true, enough = true): ApprovalEvent => ({ type: 'grant', by, same, enough });

  it('is granted by somebody else, in time, and for what was looked at', () => {
    expect(stepApproval(state, grant('other'), 99)).toEqual({ to: 'started' });
    expect(stepApproval(state, grant('asker'), 99)).toEqual({ refused: 'own' });
    expect(stepApproval(state, grant('other', false), 99)).toEqual({ refused: 'not_same' });
    expect(stepApproval(state, grant('other'), 100)).toEqual({ refused: 'expired' });
    expect(stepApproval(state, grant('other', true, false), 99)).toEqual({ to: 'pending' });
  });

  it('is denied in time, and expires after it', () => {
    expect(stepApproval(state, { type: 'deny' }, 99)).toEqual({ to: 'denied' });
    expect(stepApproval(state, { type: 'deny' }, 100)).toEqual({ refused: 'expired' });
    expect(stepApproval(state, { type: 'clock' }, 99)).toEqual({ refused: 'waits' });
    expect(stepApproval(state, { type: 'clock' }, 100)).toEqual({ to: 'expired' });
  });

  it('is decided once', () => {
    for (const status of ['started', 'denied', 'expired'] as const) {
      for (const event of [grant('other'), { type: 'deny' }, { type: 'clock' }] as const) {
        expect(stepApproval({ ...state, status }, event, 200)).toEqual({ refused: 'decided' });
      }
    }
  });
});

/** Over HTTP: `admin` makes a runbook, `normal` runs it, `grantee` may grant it. */

let server: PushServer;
let name = '';
let made = 0;
beforeAll(async () => {
  server = await startPushServer();
  const { auth, org, nodes } = server;
  await auth.groups.put(org, 'push_job_readers', { users: [], clients: [], groups: [] }, ME);
  for (const node of ['web1', 'web2']) nodes.enter(org.id, node, 'succeed', { role: 'web' });
});
afterAll(() => server.close());
beforeEach(async () => {
  name = `a${++made}`;
  await json({ method: 'POST', path: 'runbooks', body: { name, ...RUNBOOK } });
});

const RUNBOOK = {
  command: ['deploy', '{{release}}'],
  file: 'token={{token}}',
  search: 'role:web',
  parameters: { release: { type: 'string' }, token: { type: 'secret', required: false } },
  runners: ['normal', 'grantee'],
  approval: { by: ['grantee', 'admin'], within: 3600 },
};
const ASKER = { as: 'normal user' } as const;
const OTHER = { as: 'grantee' } as const;

function send({ path, ...rest }: Request): Promise<Response> {
  return server.send({ ...rest, path: `/organizations/default/${path}` });
}

async function json<T = Record<string, unknown>>(request: Request): Promise<T> {
  const response = await send(request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${request.path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

interface Waiting {
  readonly approval: string;
  readonly hash: string;
}

async function ask(parameters: object = { release: '42' }): Promise<Waiting> {
  const response = await send({ method: 'POST', path: `runbooks/${name}/run`, body: { parameters }, ...ASKER });
  expect(response.status).toBe(202);
  return (await response.json()) as Waiting;
}

const grant = ({ approval, hash }: Waiting, rest: Partial<Request> = OTHER): Promise<Response> =>
  send({ method: 'POST', path: `approvals/${approval}/grant`, body: { hash }, ...rest });

async function outcome(response: Response): Promise<string> {
  return `${response.status} ${response.headers.get('x-muster-error') ?? ''}`.trim();
}

const jobs = () =>
  server.test.store.read.selectFrom('push_jobs').select(['id', 'spec']).where('spec', 'like', `%"${name}"%`).execute();

describe('a run that needs a second person', () => {
  it('waits, shows what would be started, and is started as it was approved, for whoever asked', async () => {
    const waiting = await ask();
    const path = `approvals/${waiting.approval}`;
    const shown = { status: 'pending', runbook: name, version: 1, command: 'deploy 42', asked_by: 'normal', job: null };
    expect(await json({ path, ...OTHER })).toMatchObject({
      ...shown,
      hash: waiting.hash,
      order: {
        command: ['deploy', '42'],
        target: { kind: 'search', query: 'role:web' },
        file: 'token=',
        on_failures: 'end',
      },
    });
    expect(await jobs()).toEqual([]);
    // What it was meanwhile changed to is not what was approved.
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RUNBOOK, command: ['rm', '{{release}}'] } });
    const { job } = (await (await grant(waiting)).json()) as { job: string };
    expect(await server.finish(job, '?detail=true')).toMatchObject({
      status: 'complete',
      command: 'deploy 42',
      created_by: 'normal',
      runbook: { version: 1, parameters: { release: '42' } },
    });
    expect(await json({ path, ...ASKER })).toMatchObject({
      status: 'started',
      decided_by: 'grantee',
      job,
      order: null,
    });
    expect(await json({ path: `pushy/jobs/${job}`, ...ASKER })).toMatchObject({ status: 'complete' });
  });

  it('is not granted by who asked, by who may not, with another hash, or by a token', async () => {
    const waiting = await ask();
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RUNBOOK, approval: { by: ['normal'] } } });
    const own = await ask();
    expect(await outcome(await grant(own, ASKER))).toBe('403 approval_own');
    expect(await outcome(await grant(own, OTHER))).toBe('403 forbidden');
    expect(await outcome(await grant({ ...waiting, hash: own.hash }))).toBe('409 approval_not_same');
    const bearer = { organization: server.org, name: 'grantee' };
    const { token } = await server.auth.tokens.createAccessToken(
      { bearer: { ...bearer, organization: null }, ttlSeconds: 60 },
      ME,
    );
    expect(await outcome(await grant(waiting, { token }))).toBe('403 signature_required');
    expect(await jobs()).toEqual([]);
  });

  it('is not started when what is stored is not what was approved', async () => {
    const waiting = await ask();
    const { test, org } = server;
    const row = await test.store.read
      .selectFrom('push_approvals')
      .selectAll()
      .where('id', '=', waiting.approval)
      .executeTakeFirstOrThrow();
    expect(hashOf(org.id, row.id, row.order_text)).toBe(waiting.hash);
    const other = row.order_text.replaceAll('"42"', '"43"');
    await test.store.transact((trx) =>
      trx.updateTable('push_approvals').set({ order_text: other }).where('id', '=', row.id).execute(),
    );
    expect(await outcome(await grant(waiting))).toBe('409 approval_not_same');
  });

  it('is granted once, however often somebody tries', async () => {
    const waiting = await ask();
    const answers = await Promise.all([grant(waiting), grant(waiting, {}), grant(waiting)]);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0);
    expect(statuses.every((status) => status === 200 || status === 409)).toBe(true);
    expect((await jobs()).length).toBe(1);
    const { decided_by } = await json<{ decided_by: string }>({ path: `approvals/${waiting.approval}` });
    // Who has granted it hears of the same job again; anybody else, that it is decided.
    const [again, late] = decided_by === 'grantee' ? [OTHER, {}] : [{}, OTHER];
    expect((await grant(waiting, again)).status).toBe(200);
    expect(await outcome(await grant(waiting, late))).toBe('409 approval_decided');
    expect((await jobs()).length).toBe(1);
  });

  it('of an unknown id is told to whoever may start push jobs', async () => {
    const unknown = { approval: 'f'.repeat(32), hash: '0'.repeat(64) };
    expect(await outcome(await grant(unknown, {}))).toBe('404 not_found');
    expect(await outcome(await grant(unknown, OTHER))).toBe('403 forbidden');
  });

  it('is denied, or taken back by who asked, and not started then', async () => {
    const denied = await ask();
    const body = { reason: 'not on a friday' };
    await json({ method: 'POST', path: `approvals/${denied.approval}/deny`, body, ...OTHER });
    expect(await json({ path: `approvals/${denied.approval}` })).toMatchObject({ status: 'denied', ...body });
    expect(await outcome(await grant(denied))).toBe('409 approval_decided');
    const back = await ask();
    await json({ method: 'POST', path: `approvals/${back.approval}/deny`, body: {}, ...ASKER });
    expect(await outcome(await grant(back))).toBe('409 approval_decided');
    expect(await jobs()).toEqual([]);
  });

  it('expires, and is told so', async () => {
    const waiting = await ask();
    server.clock.advance(3_600_000);
    expect(await json({ path: `approvals/${waiting.approval}` })).toMatchObject({ status: 'expired' });
    expect(await outcome(await grant(waiting))).toMatch(/^409 approval_(expired|decided)$/);
    const stored = async () =>
      (await json<{ id: string; status: string }[]>({ path: 'approvals?status=expired' })).map(({ id }) => id);
    await expect
      .poll(async () => {
        server.clock.advance(30_000);
        return stored();
      })
      .toContain(waiting.approval);
    expect(await jobs()).toEqual([]);
    const expired = server.test.store.read.selectFrom('audit').selectAll().where('action', '=', 'approval.expire');
    const [entry, ...others] = await expired.where('target', '=', waiting.approval).execute();
    expect(entry).toMatchObject({ actor: 'muster', actor_kind: 'server', org_id: server.org.id, outcome: 'done' });
    expect(JSON.parse(entry?.detail ?? '')).toMatchObject({ runbook: `${name} 1`, asker: 'normal' });
    expect(others).toEqual([]);
  });

  it('is not started any more for somebody who has lost the right to run it', async () => {
    const waiting = await ask();
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RUNBOOK, runners: [] } });
    expect(await outcome(await grant(waiting))).toBe('409 approval_void');
  });

  it('keeps its secrets to itself, and only until it is decided', async () => {
    const waiting = await ask({ release: '1', token: 'hunter2-hunter2' });
    expect(await everythingStored(server)).not.toMatch(/hunter2|aHVudGVyMg/);
    const shown = await json({ path: `approvals/${waiting.approval}`, ...OTHER });
    expect(shown).toMatchObject({ parameters: { token: '***' } });
    expect(JSON.stringify(shown)).not.toMatch(/hunter2|aHVudGVyMg/);
    expect(shown).toMatchObject({ order: { file: 'not shown: it holds a secret' } });
    const { store } = server.test;
    // The server has got another key meanwhile: what is agreed to is another text.
    const [former, key] = [SealingKey.of(new Uint8Array(32)), SealingKey.of(new Uint8Array(32).fill(1))];
    const secrets = (now: SealingKey) => new Secrets({ store, auth: server.auth, key: now, providers: noProviders() });
    expect(await rekeyRuns({ store, secrets: secrets(key) }, former)).toBe(1);
    expect(await outcome(await grant(waiting))).toBe('409 approval_not_same');
    expect(await rekeyRuns({ store, secrets: secrets(former) }, key)).toBe(1);
    const { hash } = await json<{ hash: string }>({ path: `approvals/${waiting.approval}`, ...OTHER });
    expect(await outcome(await grant({ ...waiting, hash }))).toBe('200');
    const { read } = store;
    const row = await read.selectFrom('push_approvals').selectAll().where('id', '=', waiting.approval).execute();
    expect(row[0]?.order_text).toBe('');
    const audit = await read.selectFrom('audit').selectAll().where('action', 'like', 'approval.%').execute();
    expect(audit.map(({ action }) => action)).toEqual(expect.arrayContaining(['approval.ask', 'approval.grant']));
    expect(JSON.stringify(audit)).not.toContain('hunter2');
  });

  it('is shown to who asked and to who may decide, and to nobody else', async () => {
    const waiting = await ask();
    const ids = async (rest: Partial<Request>) =>
      (await json<{ id: string }[]>({ path: 'approvals', ...rest })).map(({ id }) => id);
    expect(await ids(ASKER)).toContain(waiting.approval);
    expect(await ids(OTHER)).toContain(waiting.approval);
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RUNBOOK, approval: {} } });
    const others = await ask();
    expect(await ids(OTHER)).not.toContain(others.approval);
    expect((await send({ path: `approvals/${others.approval}`, ...OTHER })).status).toBe(403);
  });

  it('is every run while the organization asks for it', async () => {
    const { approval: _, ...plain } = RUNBOOK;
    await json({ method: 'PUT', path: `runbooks/${name}`, body: plain });
    const settings = (body: object) => json({ method: 'PUT', path: 'pushy/settings', body });
    expect(await settings({ quorum: null, approval: 'runbooks' })).toMatchObject({
      quorum: null,
      approval: 'runbooks',
    });
    // What is not said stays.
    expect(await settings({ quorum: '80%' })).toMatchObject({ quorum: '80%', approval: 'runbooks' });
    expect((await grant(await ask(), {})).status).toBe(200);
    await settings({ quorum: null, approval: 'none' });
    const run = { method: 'POST', path: `runbooks/${name}/run`, body: { parameters: { release: '1' } } };
    expect((await send({ ...run, ...ASKER })).status).toBe(201);
  });
});
