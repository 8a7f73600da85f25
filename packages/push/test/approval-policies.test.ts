import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { missing } from '../src/approvals/needs.js';
import { type PushServer, type Request, startPushServer } from './support/push-server.js';

/** Over HTTP: `grantee` may start push jobs on the nodes of group web; whom a policy names may agree to them, or `admin` where it names nobody. */

let server: PushServer;
beforeAll(async () => {
  server = await startPushServer();
  const { auth, org, nodes } = server;
  await auth.groups.put(org, 'push_job_readers', { users: [], clients: [], groups: [] }, ME);
  for (const node of ['web1', 'web2', 'web3', 'db1']) nodes.enter(org.id, node, 'succeed', { role: node.slice(0, -1) });
  await auth.groups.put(org, 'leads', { users: ['normal'], clients: [], groups: [] }, ME);
});
afterAll(() => server.close());
afterEach(async () => {
  for (const { name } of await json<{ name: string }[]>({ path: 'approval-policies' })) {
    await json({ method: 'DELETE', path: `approval-policies/${name}` });
  }
});

const OTHER = { as: 'grantee' } as const;
const LEAD = { as: 'normal user' } as const;
const WEB = ['web1', 'web2', 'web3'];

function send({ path, ...rest }: Request): Promise<Response> {
  return server.send({ ...rest, path: `/organizations/default/${path}` });
}

async function json<T = Record<string, unknown>>(request: Request): Promise<T> {
  const response = await send(request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${request.path}: ${response.status} ${text}`);
  return (text === '' ? null : JSON.parse(text)) as T;
}

interface Waiting {
  readonly approval: string;
  readonly hash: string;
}

const policy = (name: string, body: object): Promise<object> =>
  json({ method: 'PUT', path: `approval-policies/${name}`, body });
const start = (body: object, rest: Partial<Request> = {}): Promise<Response> =>
  send({ method: 'POST', path: 'pushy/jobs', body: { command: 'uname', ...body }, ...rest });
const grant = ({ approval, hash }: Waiting, rest: Partial<Request> = LEAD): Promise<Response> =>
  send({ method: 'POST', path: `approvals/${approval}/grant`, body: { hash }, ...rest });
const jobs = async () => (await server.test.store.read.selectFrom('push_jobs').select('id').execute()).length;

async function ask(body: object, rest: Partial<Request> = {}): Promise<Waiting> {
  const before = await jobs();
  const response = await start(body, rest);
  expect(response.status).toBe(202);
  expect(await jobs()).toBe(before);
  return (await response.json()) as Waiting;
}

async function outcome(response: Response): Promise<string> {
  return `${response.status} ${response.headers.get('x-muster-error') ?? ''}`.trim();
}

describe('those who have to agree', () => {
  const identity = (name: string) =>
    ({ principalId: name, type: 'user', name, serverAdmin: false, publicKey: null }) as const;
  const groups = new Map([['leads', { ...members(['lena']), exclusive: false }]]);
  const granter = (name: string, mayWrite = false) => ({ identity: identity(name), mayWrite });

  it('are counted for each need apart', () => {
    const needs = [
      { by: ['group:leads'], grants: 1, why: 'policy a' },
      { by: ['bob', 'carol'], grants: 2, why: 'policy b' },
    ];
    expect(missing(needs, [], groups)).toBe(2);
    expect(missing(needs, [granter('lena')], groups)).toBe(2);
    expect(missing(needs, [granter('bob'), granter('carol')], groups)).toBe(1);
    expect(missing(needs, [granter('bob'), granter('carol'), granter('lena')], groups)).toBe(0);
    // Who may start any push job does not go past those who are named.
    expect(missing(needs, [granter('x', true), granter('y', true)], groups)).toBe(2);
    const open = [{ by: [], grants: 1, why: 'policy c' }];
    expect(missing(open, [granter('lena')], groups)).toBe(1);
    expect(missing(open, [granter('x', true)], groups)).toBe(0);
    expect(missing([], [], groups)).toBe(0);
  });
});

function members(users: readonly string[]) {
  return { users: new Set(users), clients: new Set<string>(), groups: new Set<string>() };
}

describe('a policy of approval', () => {
  it('has push jobs on more nodes wait, and starts them for whoever asked when somebody else agrees', async () => {
    await policy('many', { above: 2, by: ['group:leads'] });
    expect((await start({ nodes: ['web1', 'web2'] })).status).toBe(201);
    const { approval, ...given } = await ask({ nodes: WEB, file: 'raw:what it reads' });
    expect(await json({ path: `approvals/${approval}`, ...LEAD })).toMatchObject({
      kind: 'command',
      runbook: null,
      asked_by: 'admin',
      command: 'uname',
      target: '3 named nodes',
      needs: [{ why: 'policy many', grants: 1, by: ['group:leads'] }],
      order: { file: 'what it reads' },
    });
    expect(await outcome(await grant({ approval, ...given }, {}))).toBe('403 forbidden');
    const { job } = (await (await grant({ approval, ...given })).json()) as { job: string };
    expect(await server.finish(job, '?detail=true')).toMatchObject({
      status: 'complete',
      command: 'uname',
      created_by: 'admin',
    });
  });

  it('counts the nodes of its group, however they are chosen, and all when the group is gone', async () => {
    const { auth, org } = server;
    const execute = { users: [], clients: [], groups: [] };
    await auth.nodeGroups.put(org, 'prod', { nodes: ['db1'], query: null, execute }, ME);
    await policy('prod', { node_group: 'prod' });
    expect((await start({ nodes: ['web1'] })).status).toBe(201);
    await ask({ nodes: ['web1', 'db1'] });
    await ask({ search: 'role:db' });
    await ask({ node_group: 'prod' });
    const before = (await (await start({ nodes: ['web1'] })).json()) as { id: string };
    await server.finish(before.id);
    expect((await start({ from_job: { id: before.id, statuses: ['succeeded'] } })).status).toBe(201);
    expect(await json({ method: 'POST', path: 'pushy/jobs/preview', body: { nodes: ['db1'] } })).toMatchObject({
      approval: true,
    });
    await auth.nodeGroups.remove(org, 'prod', ME);
    await ask({ nodes: ['web1'] });
    expect(
      await outcome(await send({ method: 'PUT', path: 'approval-policies/x', body: { node_group: 'none' } })),
    ).toBe('404 not_found');
  });

  it('waits for as many as it says, of whom each counts once and only while they may', async () => {
    await policy('two', { grants: 2, by: ['group:leads', 'grantee'] });
    const waiting = await ask({ nodes: ['web1'] });
    const again = async (rest: Partial<Request>) => (await grant(waiting, rest)).json();
    expect(await again(LEAD)).toEqual({ id: waiting.approval, job: null, missing: 1 });
    expect(await again(LEAD)).toEqual({ id: waiting.approval, job: null, missing: 1 });
    expect(await json({ path: `approvals/${waiting.approval}` })).toMatchObject({
      status: 'pending',
      agreed: [{ by: 'normal' }],
    });
    // Who agreed leaves the group: their word counts no more.
    const { auth, org } = server;
    await auth.groups.put(org, 'leads', { users: [], clients: [], groups: [] }, ME);
    expect(await again(OTHER)).toMatchObject({ job: null, missing: 1 });
    expect(await outcome(await grant(waiting, LEAD))).toBe('403 forbidden');
    await auth.groups.put(org, 'leads', { users: ['normal'], clients: [], groups: [] }, ME);
    const { job } = (await again(LEAD)) as { job: string };
    expect(await server.finish(job)).toMatchObject({ status: 'complete' });
    const { read } = server.test.store;
    const audit = await read
      .selectFrom('audit')
      .select(['action', 'detail'])
      .where('target', '=', waiting.approval)
      .orderBy('id')
      .execute();
    expect(audit.map(({ action }) => action)).toEqual([
      'approval.ask',
      ...['approval.agree', 'approval.agree', 'approval.agree', 'approval.grant'],
    ]);
  });

  it('is decided by those alone whom it names, and by whoever may start any push job where it names nobody', async () => {
    const { auth, org } = server;
    await auth.groups.put(org, 'push_job_writers', { users: ['grantee'], clients: [], groups: [] }, ME);
    await policy('named', { by: ['group:leads'] });
    const named = await ask({ nodes: ['web1'] });
    // Whoever looks at it is told what of it they may do.
    const path = `approvals/${named.approval}`;
    expect(await json({ path, ...LEAD })).toMatchObject({ may_grant: true, may_deny: true });
    expect(await json({ path, ...OTHER })).toMatchObject({ may_grant: false, may_deny: false });
    expect(await json({ path })).toMatchObject({ may_grant: false, may_deny: true });
    expect(await outcome(await grant(named, OTHER))).toBe('403 forbidden');
    const deny = { method: 'POST', path: `approvals/${named.approval}/deny`, body: {}, ...OTHER } as const;
    expect(await outcome(await send(deny))).toBe('403 forbidden');
    await policy('open', {});
    const both = await ask({ nodes: ['web1'] });
    expect(await (await grant(both, OTHER)).json()).toMatchObject({ job: null, missing: 1 });
    expect(await (await grant(both)).json()).toMatchObject({ missing: 0 });
    await json({ method: 'DELETE', path: 'approval-policies/open' });
    expect(await (await grant(named)).json()).toMatchObject({ missing: 0 });
    expect(await json({ path, ...LEAD })).toMatchObject({ may_grant: false, may_deny: false });
    await auth.groups.put(org, 'push_job_writers', { users: [], clients: [], groups: [] }, ME);
  });

  it('is asked anew about the nodes that there are when it is granted', async () => {
    await policy('many', { above: 0, by: ['group:leads'] });
    const waiting = await ask({ search: 'role:web' });
    await policy('more', { above: 2, grants: 2, by: ['group:leads'] });
    expect(await (await grant(waiting)).json()).toMatchObject({ job: null, missing: 1 });
    await json({ method: 'DELETE', path: 'approval-policies/more' });
    // What it wanted once it wants still.
    expect(await (await grant(waiting)).json()).toMatchObject({ job: null, missing: 1 });
  });

  it('holds for runs of runbooks, and besides what these ask for themselves', async () => {
    const body = { name: 'free', command: 'uname', nodes: WEB, runners: ['normal'] };
    await json({ method: 'POST', path: 'runbooks', body });
    const run = () => send({ method: 'POST', path: 'runbooks/free/run', body: {}, ...LEAD });
    expect((await run()).status).toBe(201);
    await policy('many', { above: 2, by: ['grantee'] });
    expect(await json({ method: 'POST', path: 'runbooks/free/preview', body: {}, ...LEAD })).toMatchObject({
      approval: true,
    });
    const waiting = (await (await run()).json()) as Waiting;
    expect(await json({ path: `approvals/${waiting.approval}` })).toMatchObject({ kind: 'runbook', runbook: 'free' });
    const { job } = (await (await grant(waiting, OTHER)).json()) as { job: string };
    expect(await server.finish(job, '?detail=true')).toMatchObject({ created_by: 'normal' });
  });

  it('is not gone around by an approval of something else, by a change, or by a job that was granted before', async () => {
    await policy('all', { by: ['group:leads', 'admin'] });
    const harmless = await ask({ nodes: ['web1'] });
    const other = await ask({ nodes: ['web1'], command: 'rm' });
    expect(await outcome(await grant({ ...other, hash: harmless.hash }))).toBe('409 approval_not_same');
    const { job } = (await (await grant(harmless)).json()) as { job: string };
    await server.finish(job);
    // The same once more is another start.
    await ask({ from_job: { id: job, statuses: ['succeeded'] } });
    expect(await outcome(await grant(harmless, {}))).toBe('409 approval_decided');
    server.clock.advance(86_400_000);
    expect(await outcome(await grant(other))).toMatch(/^409 approval_(expired|decided)$/);
  });

  it('is set and deleted by admins with a key, in the audit, and checked', async () => {
    const set = (body: object, rest: Partial<Request> = {}) =>
      send({ method: 'PUT', path: 'approval-policies/p', body, ...rest });
    expect((await set({}, LEAD)).status).toBe(403);
    const { token } = await server.auth.tokens.createAccessToken(
      { bearer: { organization: null, name: 'admin' }, ttlSeconds: 60 },
      ME,
    );
    expect(await outcome(await set({}, { token }))).toBe('403 signature_required');
    expect((await set({ grants: 0 })).status).toBe(400);
    const whole = { name: 'p', node_group: null, above: 0, grants: 1, by: [], within: null };
    const by = ['group:nobody', 'admin'];
    expect(await (await set({ by })).json()).toEqual({ ...whole, by, unknown: ['group:nobody'] });
    expect(await json({ path: 'approval-policies', ...LEAD })).toEqual([{ ...whole, by }]);
    await json({ method: 'DELETE', path: 'approval-policies/p' });
    expect((await send({ method: 'DELETE', path: 'approval-policies/p' })).status).toBe(404);
    const { read } = server.test.store;
    const audit = await read.selectFrom('audit').select('action').where('target', '=', 'p').execute();
    expect(audit.map(({ action }) => action)).toEqual(['approval.policy', 'approval.policy-delete']);
  });
});
