import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ME } from '../../platform/test/support/personas.js';
import { savePushJob } from '../src/repository/writes.js';
import { jobRow, jobId as numbered } from './support/push-rows.js';
import { type Persona, type PushServer, type Request, startPushServer } from './support/push-server.js';

/** The acceptance list of sheet §9.5, by its ids, and Push Jobs §6.2-6.4. No node is connected unless a case says so. */

const NO_ACCESS = (name: string) => ({
  error: [`User or client '${name}' does not have access to that action on this server.`],
});
const NOT_ASSOCIATED = { error: ["'outside' is not associated with organization 'default'"] };
const UNKNOWN_USER = {
  error: ["Failed to authenticate as 'invalid'. Ensure that your node_name and client key are correct."],
};
const JOB = { command: 'sleep 2', nodes: ['DONKEY'] };
const ID = /^[0-9a-f]{32}$/;

let server: PushServer;
let existing: string;

beforeAll(async () => {
  server = await startPushServer();
  existing = await server.start(JOB);
});
afterAll(() => server.close());

const send = (request: Request): Promise<Response> => server.send(request);
const post = (body: unknown, rest: Partial<Request> = {}): Promise<Response> =>
  send({ method: 'POST', path: 'jobs', body, ...rest });
const json = async (response: Response): Promise<Record<string, unknown>> =>
  (await response.json()) as Record<string, unknown>;

describe('JOBS: verbs', () => {
  it.each([
    ['JOBS-1', 'PUT', 'jobs/'],
    ['JOBS-2', 'DELETE', 'jobs/'],
    ['JOBS-3', 'PUT', 'jobs/ID'],
    ['JOBS-4', 'POST', 'jobs/ID'],
    ['JOBS-5', 'DELETE', 'jobs/ID'],
    ['JOBS-7', 'PUT', 'jobs/name-does-not-exist'],
    ['JOBS-8', 'POST', 'jobs/name-does-not-exist'],
    ['JOBS-9', 'DELETE', 'jobs/name-does-not-exist'],
  ])('%s: %s %s is 405', async (_id, method, path) => {
    const response = await send({ method, path: path.replace('ID', existing) });
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toContain('GET');
  });

  it('JOBS-6: a job that does not exist is 404', async () => {
    expect((await send({ path: 'jobs/name-does-not-exist' })).status).toBe(404);
  });
});

/** `it.each` would spread lists. */
const each = (...values: unknown[]): [unknown][] => values.map((value) => [value]);

type Access = [Persona, number, object | null];

const READ: Access[] = [
  ['admin user', 200, null],
  ['normal user', 200, null],
  ['member client', 200, null],
  ['invalid user', 401, UNKNOWN_USER],
  ['outside user', 403, NOT_ASSOCIATED],
  ['bogus client', 401, null],
];
const WRITE: Access[] = [
  ['admin user', 201, null],
  ['normal user', 403, NO_ACCESS('normal')],
  ['member client', 403, NO_ACCESS('member-client')],
  ['invalid user', 401, UNKNOWN_USER],
  ['outside user', 403, NOT_ASSOCIATED],
  ['bogus client', 401, null],
];

async function expectAccess(request: Request, [as, status, body]: Access): Promise<void> {
  const response = await send({ ...request, as });
  const answer = await response.json();
  expect(response.status).toBe(status);
  if (body !== null) expect(answer).toEqual(body);
}

describe('JOBS: access without groups', () => {
  it.each(READ)('JOBS-10..15: %s gets the list: %i', async (...access) => expectAccess({ path: 'jobs/' }, access));
  it.each(WRITE)('JOBS-16..21: %s posts a job: %i', async (...access) =>
    expectAccess({ method: 'POST', path: 'jobs/', body: JOB }, access),
  );
  it.each(READ)('JOBS-22..27: %s gets a job: %i', async (...access) =>
    expectAccess({ path: `jobs/${existing}` }, access),
  );
  it.each<Persona>(['admin user', 'normal user'])('JOBS-28, 29: %s gets jobs/not_a_number: 404', async (as) => {
    expect((await send({ path: 'jobs/not_a_number', as })).status).toBe(404);
  });
});

describe('JOBS: access with groups', () => {
  const users = ['normal', 'outside'];
  const clients = ['member-client'];
  const grouped = (success: number): Access[] => [
    ['normal user', success, null],
    ['admin user', 403, NO_ACCESS('admin')],
    ['member client', success, null],
    ['admin client', 403, NO_ACCESS('admin-client')],
    ['outside user', 403, NOT_ASSOCIATED],
  ];
  const put = (name: string, members: object) =>
    server.auth.groups.put(server.org, name, { users: [], clients: [], groups: [], ...members }, ME);
  const removeGroups = async () => {
    for (const name of ['push_job_readers', 'push_job_writers']) await server.auth.groups.remove(server.org, name, ME);
  };

  describe.each([
    ['directly', () => put('unused', {}), { users, clients }],
    ['in nested groups', () => put('inner', { users, clients }), { groups: ['inner'] }],
  ])('%s', (_how, prepare, members) => {
    beforeAll(async () => {
      await prepare();
      await put('pushy_job_readers', members);
      await put('pushy_job_writers', members);
    });
    afterAll(removeGroups);

    it.each(grouped(200))('JOBS-30..34, 45..48: %s gets the list: %i', async (...access) =>
      expectAccess({ path: 'jobs/' }, access),
    );
    it.each(grouped(201))('JOBS-35..39, 49..52: %s posts a job: %i', async (...access) =>
      expectAccess({ method: 'POST', path: 'jobs/', body: JOB }, access),
    );
    it.each(grouped(200))('JOBS-40..44, 53..56: %s gets a job: %i', async (...access) =>
      expectAccess({ path: `jobs/${existing}` }, access),
    );
  });
});

describe('JOBS: requests', () => {
  it.each([
    ['JOBS-57', 'GET', 'jobs'],
    ['JOBS-58', 'GET', `jobs/${numbered(1)}`],
    ['JOBS-59', 'POST', 'jobs'],
  ])('%s: %s %s of an unknown organization is 404', async (_id, method, path) => {
    const response = await send({
      method,
      path: `/organizations/unknown/pushy/${path}`,
      ...(method === 'POST' ? { body: JOB } : {}),
    });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({ error: ["organization 'unknown' does not exist."] });
  });

  it.each(['', 'sleep 2'])('JOBS-60 (N6: id and uri): command %j runs into quorum_failed', async (command) => {
    const response = await post({ command, nodes: ['DONKEY'] });
    const answer = await json(response);
    expect(response.status).toBe(201);
    expect(answer).toEqual({
      id: expect.stringMatching(ID),
      uri: `${server.url}/organizations/default/pushy/jobs/${answer.id}`,
    });
    expect(response.headers.get('location')).toBe(answer.uri);
    expect(String(answer.id).slice(0, 12)).toBe(server.org.id.slice(-12));
    const job = await server.finish(String(answer.id));
    expect(job).toEqual({
      command,
      nodes: { unavailable: ['DONKEY'] },
      id: answer.id,
      run_timeout: 3600,
      status: 'quorum_failed',
      created_at: new Date(server.clock.now()).toUTCString(),
      updated_at: new Date(server.clock.now()).toUTCString(),
    });
  });

  const refused = async (body: unknown): Promise<unknown> => {
    const response = await post(body);
    expect(response.status).toBe(400);
    return ((await response.json()) as { error: string }).error;
  };

  it.each(each(undefined, [], {}, 0, false, null))('JOBS-61: command %j is 400', async (command) => {
    expect(await refused({ ...JOB, command })).toBe('invalid command supplied');
  });

  it.each([[['DONKEY']], [['DONKEY', 'FIONA']]])('JOBS-62: nodes %j is 201', async (nodes) => {
    const job = await server.finish(await server.start({ ...JOB, nodes }));
    expect(job.nodes).toEqual({ unavailable: nodes });
  });

  it.each(each(undefined, '', 'DONKEY', [], [false], [null], [{}], {}, 0, false, null))(
    'JOBS-63: nodes %j is 400',
    async (nodes) => expect(await refused({ ...JOB, nodes })).toBe('at least one node must be supplied'),
  );

  it.each([undefined, 1, 999])('JOBS-64: quorum %j is 201', async (quorum) => {
    expect((await post({ ...JOB, quorum })).status).toBe(201);
  });

  it.each(each('', '1', [], {}, false, null))('JOBS-65: quorum %j is 400', async (quorum) => {
    expect(await refused({ ...JOB, quorum })).toBe('invalid type supplied for quorum (expected a number)');
  });

  it.each([
    [undefined, 3600],
    [0, 0],
    [3600, 3600],
  ])('JOBS-66: run_timeout %j is 201 and echoed', async (run_timeout, echoed) => {
    const id = await server.start({ ...JOB, run_timeout });
    expect((await json(await send({ path: `jobs/${id}` }))).run_timeout).toBe(echoed);
  });

  it.each(each('', '1', [], {}, false, null))('JOBS-67: run_timeout %j is 400', async (run_timeout) => {
    expect(await refused({ ...JOB, run_timeout })).toBe('invalid type supplied for run_timeout (expected a number)');
  });

  it.each([null, '', 'bar', 0])('JOBS-68: extra key foo with %j is 400', async (foo) => {
    expect(await refused({ ...JOB, foo })).toBe('invalid key supplied');
  });

  it('JOBS-69: created_at and updated_at are dates, in order', async () => {
    const id = await server.start(JOB);
    server.clock.advance(1000);
    const job = await server.finish(id);
    const [created, updated] = [job.created_at, job.updated_at].map((date) => Date.parse(String(date)));
    expect(created).toBeGreaterThan(0);
    expect(updated).toBeGreaterThanOrEqual(created ?? Number.NaN);
  });

  it('JOBS-A: behind a TLS proxy the uri is https', async () => {
    const response = await post(JOB, { headers: { 'x-forwarded-proto': 'https' } });
    expect((await json(response)).uri).toMatch(/^https:\/\/.*\/jobs\/[0-9a-f]{32}$/);
  });
});

describe('sheet §7.2: order of checks', () => {
  it('an invalid body is 400 before the signature is verified', async () => {
    expect((await post({ command: 1 }, { as: 'bogus client' })).status).toBe(400);
    expect((await post(JOB, { as: 'bogus client' })).status).toBe(401);
  });

  it('a disallowed method is 405 even when unsigned', async () => {
    expect((await fetch(`${server.url}/organizations/default/pushy/jobs`, { method: 'DELETE' })).status).toBe(405);
  });

  it('406 wins over a missing job', async () => {
    const headers = { accept: 'text/html' };
    expect((await send({ path: `jobs/${numbered(77)}`, headers })).status).toBe(406);
    expect((await send({ path: `jobs/${numbered(77)}/output/A/stdout`, headers })).status).toBe(406);
  });

  it('a body that is not JSON is 400, one that is too large 413', async () => {
    expect((await post('{"command":')).status).toBe(400);
    expect((await post('')).status).toBe(400);
    const large = await post({ ...JOB, command: 'x'.repeat(1_000_001) });
    expect([large.status, await large.json()]).toEqual([413, { error: 'JSON must be no more than 1000000 bytes.' }]);
  });

  it('another content type is 415, last of all', async () => {
    expect((await post(JOB, { headers: { 'content-type': 'text/plain' } })).status).toBe(415);
  });
});

describe('Push Jobs §6: examples', () => {
  it('§6.2.1 POST starts a job, 201 with its id', async () => {
    const nodes = ['NODE1', 'NODE2', 'NODE3', 'NODE4', 'NODE5', 'NODE6'];
    const response = await post({ command: 'chef-client', run_timeout: 300, nodes });
    expect([response.status, await response.json()]).toMatchObject([201, { id: expect.stringMatching(ID) }]);
  });

  it('§6.2.1 POST: 400 bad body, 401 unknown user, 403 not authorized, 404 no organization', async () => {
    const statuses = [
      await post({}),
      await post(JOB, { as: 'invalid user' }),
      await post(JOB, { as: 'normal user' }),
      await post(JOB, { path: '/organizations/unknown/pushy/jobs' }),
    ].map((response) => response.status);
    expect(statuses).toEqual([400, 401, 403, 404]);
  });

  it('§6.2.2 GET lists jobs (N6: objects with id, newest first)', async () => {
    server.clock.advance(1000);
    const ids = [await server.start(JOB)];
    server.clock.advance(1000);
    ids.unshift(await server.start(JOB));
    const jobs = (await (await send({ path: 'jobs' })).json()) as Record<string, unknown>[];
    expect(jobs.slice(0, 2).map((job) => job.id)).toEqual(ids);
    expect(jobs[0]).not.toHaveProperty('nodes');
  });

  it('§6.3.1 GET shows every node by its status', async () => {
    server.nodes.enter(server.org.id, 'S', 'succeed');
    server.nodes.enter(server.org.id, 'F', 'fail');
    server.nodes.enter(server.org.id, 'N', 'refuse');
    const id = await server.start({ command: 'chef-client', run_timeout: 300, nodes: ['S', 'F', 'N', 'U'], quorum: 2 });
    expect(await server.finish(id)).toMatchObject({
      id,
      command: 'chef-client',
      run_timeout: 300,
      status: 'complete',
      nodes: { succeeded: ['S'], failed: ['F'], nacked: ['N'], unavailable: ['U'] },
    });
  });

  it('§6.3.1 GET: 400 unsigned, 401 unknown user, 403 not authorized, 404 no job', async () => {
    const path = `/organizations/default/pushy/jobs/${existing}`;
    const statuses = [
      await fetch(server.url + path),
      await send({ path, as: 'invalid user' }),
      await send({ path, as: 'outside user' }),
      await send({ path: `jobs/${numbered(77)}` }),
    ].map((response) => response.status);
    expect(statuses).toEqual([400, 401, 403, 404]);
  });

  it('§6.4.1 PUT aborts a job, and again changes nothing (N7)', async () => {
    server.nodes.enter(server.org.id, 'R', 'run');
    const id = await server.start({ command: 'sleep 100', nodes: ['R', 'GONE'], quorum: 1 });
    const feed = server.events(id);
    const abort = () => send({ method: 'PUT', path: `jobs/${id}/abort` });
    const first = await abort();
    expect(first.status).toBe(200);
    const names = (await feed).map(({ event }) => event);
    expect(names.at(-1)).toBe('job_complete');
    const again = await abort();
    const job = await json(again);
    expect(again.status).toBe(200);
    expect(job).toMatchObject({ id, status: 'aborted', reason: 'aborted by admin', aborting: false });
  });

  it('§6.4.1 PUT: 401 unknown user, 403 not authorized, 404 no job, 405 another method', async () => {
    const path = `jobs/${existing}/abort`;
    const statuses = [
      await send({ method: 'PUT', path, as: 'invalid user' }),
      await send({ method: 'PUT', path, as: 'normal user' }),
      await send({ method: 'PUT', path: `jobs/${numbered(77)}/abort` }),
      await send({ method: 'POST', path, body: {} }),
    ].map((response) => response.status);
    expect(statuses).toEqual([401, 403, 404, 405]);
  });
});

describe('sheet §7.7: reading jobs', () => {
  it('options come back as given, the file only when asked for', async () => {
    server.clock.advance(1000);
    const options = { user: 'bob', dir: '/tmp', env: { A: 'ü' }, file: 'raw:x', capture_output: true };
    const id = await server.start({ ...JOB, ...options });
    const { file, ...shown } = options;
    const plain = await json(await send({ path: `jobs/${id}` }));
    expect(plain).toMatchObject({ ...shown, file_specified: true });
    expect(plain).not.toHaveProperty('file');
    expect(await json(await send({ path: `jobs/${id}?include_file=true` }))).toMatchObject({ file });
    expect(await json(await send({ path: `jobs/${id}?include_file=yes` }))).not.toHaveProperty('file');
    const list = (await (await send({ path: 'jobs?limit=1' })).json()) as unknown[];
    expect(list[0]).toMatchObject({ ...shown, file_specified: true });
  });

  it('detail shows who started it, its quorum and its counts', async () => {
    server.clock.advance(1000);
    const job = await server.finish(
      await server.start({ ...JOB, nodes: ['A', 'B', 'C'], quorum: '50%' }),
      '?detail=true',
    );
    expect(job).toMatchObject({
      quorum: 2,
      created_by: 'admin',
      node_count: 3,
      counts: { unavailable: 3 },
      aborting: false,
    });
    const list = async (query: string) => (await send({ path: `jobs?limit=1${query}` })).json();
    expect(await list('&detail=true')).toMatchObject([{ id: job.id, created_by: 'admin', counts: { unavailable: 3 } }]);
    const [plain] = (await list('')) as unknown[];
    expect(plain).not.toHaveProperty('counts');
    expect(plain).not.toHaveProperty('node_status');
    expect(await list('&detail=true&node=B')).toMatchObject([{ id: job.id, node_status: 'unavailable' }]);
  });

  it('a job of another organization does not exist', async () => {
    const asOther = (path: string) => send({ path: `/organizations/elsewhere/pushy/${path}`, as: 'other admin' });
    for (const path of ['', '/nodes', '/output/DONKEY/stdout']) {
      expect((await asOther(`jobs/${existing}${path}`)).status).toBe(404);
    }
    expect((await asOther(`job_status_feed/${existing}`)).status).toBe(404);
    expect(await (await asOther('jobs')).json()).toEqual([]);
  });
});

describe('jobs by the beginning of their id', () => {
  const found = async (digits: string, as: Persona = 'admin user', org = 'default') => {
    const response = await send({ path: `/organizations/${org}/pushy/jobs/lookup/${digits}`, as });
    expect(response.status).toBe(200);
    return ((await response.json()) as { id: string }[]).map(({ id }) => id);
  };
  const own = `3f2a${'0'.repeat(16)}`;
  let id = '';
  beforeAll(async () => {
    const { org, test } = server;
    id = org.id.slice(-12) + own;
    const finished = { command: 'found', status: 'complete', phase: 'finished' };
    await test.store.commit([savePushJob(jobRow({ id, org_id: org.id, ...finished }))]);
  });

  it('are found by the whole id, by its beginning, and by what follows the digits of the organization', async () => {
    for (const digits of [id, id.slice(0, 31), id.slice(0, 16), own, own.slice(0, 9)]) {
      expect([digits, await found(digits)]).toEqual([digits, [id]]);
    }
    const response = await send({ path: `jobs/lookup/${id}` });
    expect(await response.json()).toEqual([
      { id, command: 'found', status: 'complete', created_at: '2012-09-04T23:01:02.000Z' },
    ]);
  });

  it('are some of those that are meant, when several are', async () => {
    const all = ((await (await send({ path: 'jobs' })).json()) as { id: string }[]).map((job) => job.id).sort();
    expect(all.length).toBeGreaterThan(6);
    // Here most ids differ in their last digits only.
    for (const digits of [id.slice(0, 4), id.slice(0, 12), existing.slice(0, 13), existing.slice(12, 24)]) {
      expect(await found(digits)).toEqual(all.slice(0, 6));
    }
  });

  it('are none when no id begins so', async () => {
    for (const digits of [`${id.slice(0, 12)}f`, 'f'.repeat(16), 'f'.repeat(32)])
      expect(await found(digits)).toEqual([]);
  });

  it('are none in another organization', async () => {
    for (const digits of [id, id.slice(0, 8), own]) expect(await found(digits, 'other admin', 'elsewhere')).toEqual([]);
  });

  it.each(['3f2', 'f'.repeat(33), '3F2A', '%25%25%25%25', '3f2g'])(
    '%s is 400: no digits, or too few',
    async (digits) => {
      const response = await send({ path: `jobs/lookup/${digits}` });
      expect(response.status).toBe(400);
      expect((await json(response)).error).toContain('digits');
    },
  );

  it('need the permission to read jobs', async () => {
    expect((await send({ path: `jobs/lookup/${own}`, as: 'outside user' })).status).toBe(403);
  });

  describe('to abort', () => {
    const abort = (digits: string, as: Persona) => send({ method: 'PUT', path: `jobs/${digits}/abort`, as });
    const readers = { users: [], clients: ['member-client'], groups: [], exclusive: true };
    beforeAll(() => server.auth.groups.put(server.org, 'push_job_readers', readers, ME));
    afterAll(() => server.auth.groups.remove(server.org, 'push_job_readers', ME));

    it('need no permission to read, only to abort', async () => {
      server.nodes.enter(server.org.id, 'BEGUN', 'run');
      const begun = await server.start({ command: 'sleep 100', nodes: ['BEGUN'] });
      // Others that were made here differ in their last digits only.
      for (const digits of [begun.slice(0, 13), begun.slice(0, 12)]) {
        const refused = await abort(digits, 'admin user');
        expect(refused.status).toBe(400);
        expect((await json(refused)).error).toContain('several ids');
      }
      expect((await abort(begun.slice(12), 'member client')).status).toBe(403);
      const aborted = await abort(begun.slice(12), 'admin user');
      expect([aborted.status, (await json(aborted)).id]).toEqual([200, begun]);
    });

    it('are none of jobs that have ended, whose whole id must be known', async () => {
      expect((await abort(own.slice(0, 8), 'admin user')).status).toBe(404);
      expect((await abort(id, 'admin user')).status).toBe(200);
    });

    it('are none when no id begins so', async () => {
      expect((await abort('ffff0000', 'admin user')).status).toBe(404);
    });
  });
});

describe('lists in pages', () => {
  const next = (response: Response): string | undefined =>
    /^<(.*)>; rel="next"$/.exec(response.headers.get('link') ?? '')?.[1];

  it('jobs: following the links shows each job once', async () => {
    const whole = (await (await send({ path: 'jobs' })).json()) as { id: string }[];
    const seen: string[] = [];
    let path: string | undefined = 'jobs?limit=7';
    while (path !== undefined) {
      const response: Response = await send({ path });
      expect(response.status).toBe(200);
      seen.push(...((await response.json()) as { id: string }[]).map((job) => job.id));
      path = next(response);
    }
    expect(seen).toEqual(whole.map((job) => job.id));
  });

  it('jobs: filters', async () => {
    const id = await server.start({ command: 'a filter, 100%', nodes: ['FILTER'] });
    await server.finish(id);
    const found = async (query: object) => {
      const response = await send({ path: `jobs?${new URLSearchParams({ ...query })}` });
      expect(response.status).toBe(200);
      return ((await response.json()) as { id: string }[]).map((job) => job.id);
    };
    expect(await found({ command: 'a filter, 100%' })).toEqual([id]);
    expect(await found({ command: 'a f*', status: 'quorum_failed,complete', requester: 'admin' })).toEqual([id]);
    expect(await found({ node: 'FILTER' })).toEqual([id]);
    expect(await found({ node: 'FILTER', status: 'running' })).toEqual([]);
    const future = new Date(server.clock.now() + 1000).toISOString();
    expect(await found({ node: 'FILTER', created_before: future })).toEqual([id]);
    expect(await found({ created_after: future })).toEqual([]);
  });

  it.each(['status=done', 'limit=0', 'limit=x', 'cursor=x', 'created_after=soon', 'foo=1'])(
    'jobs: ?%s is 400 naming the parameter',
    async (query) => {
      const response = await send({ path: `jobs?${query}` });
      expect(response.status).toBe(400);
      expect((await json(response)).error).toContain(query.split('=')[0]);
    },
  );

  it('the nodes of a job: in full, by status, in pages', async () => {
    server.nodes.enter(server.org.id, 'P1', 'succeed');
    server.nodes.enter(server.org.id, 'P2', 'fail');
    const id = await server.start({ command: 'x', nodes: ['P1', 'P2', 'P3'], quorum: 1 });
    await server.finish(id);
    const names = async (path: string) =>
      ((await (await send({ path })).json()) as { node_name: string }[]).map((node) => node.node_name);
    expect(await names(`jobs/${id}/nodes?status=succeeded,failed`)).toEqual(['P1', 'P2']);
    const first = await send({ path: `jobs/${id}/nodes?limit=2` });
    expect(await first.json()).toMatchObject([
      { node_name: 'P1', status: 'succeeded', exit_code: 0 },
      { node_name: 'P2', status: 'failed', exit_code: 1 },
    ]);
    expect(await names(next(first) ?? '')).toEqual(['P3']);
    expect((await send({ path: `jobs/${id}/nodes?status=done` })).status).toBe(400);
  });
});

describe('text that databases do not take', () => {
  it.each([
    [404, 'jobs/%00'],
    [404, 'jobs/ID/output/%00/stdout'],
    [404, 'job_status_feed/%00'],
    [400, 'jobs?node=%00'],
    [400, 'jobs?requester=%00'],
    [400, 'jobs?command=%00*'],
    [400, 'jobs/ID/nodes?after=%00'],
    [400, 'jobs/ID/output/A/stdout?from=1e30'],
    [200, 'jobs?node=%F0%9F%90%99'],
  ])('%i: %s', async (status, path) => {
    const accept = path.includes('feed') ? 'text/event-stream' : '*/*';
    expect((await send({ path: path.replace('ID', existing), headers: { accept } })).status).toBe(status);
  });
});
