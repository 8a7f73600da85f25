import { SealingKey, Secrets } from '@muster/platform/secrets';
import type { ServerMessage } from '@muster/wire';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { noProviders } from '../../platform/test/support/no-providers.js';
import { ME } from '../../platform/test/support/personas.js';
import { rekeyRuns } from '../src/secrets/sealed-runs.js';
import { finished, keys, type PushServer, type Request, startPushServer } from './support/push-server.js';
import { everythingStored, fetchSecrets, running } from './support/secrets.js';

/** Saved commands over HTTP. `admin` makes them; `normal` is in no group, and `push_job_readers` has nobody. */

let server: PushServer;
beforeAll(async () => {
  server = await startPushServer();
  const { auth, org, nodes } = server;
  await auth.groups.put(org, 'push_job_readers', { users: [], clients: [], groups: [] }, ME);
  await auth.groups.put(org, 'operators', { users: ['normal'], clients: [], groups: [] }, ME);
  for (const name of ['web1', 'web2']) nodes.enter(org.id, name, 'succeed', { role: 'web' });
});
afterAll(() => server.close());

const RESTART = {
  description: 'Restart a service of the web servers',
  command: ['systemctl', 'restart', '{{service}}', '--retries={{tries}}'],
  search: 'role:web',
  parameters: {
    service: { type: 'choice', choices: ['nginx', 'php fpm; reboot'], default: 'nginx' },
    tries: { type: 'number', min: 1, max: 5, whole: true, default: 1 },
  },
  runners: ['group:operators'],
};

let made = 0;

function send({ path, ...rest }: Request): Promise<Response> {
  return server.send({ ...rest, path: `/organizations/default/${path}` });
}

async function json<T = Record<string, unknown>>(request: Request): Promise<T> {
  const response = await send(request);
  const text = await response.text();
  if (!response.ok) throw new Error(`${request.path}: ${response.status} ${text}`);
  return JSON.parse(text) as T;
}

async function create(given: object = {}, rest: Partial<Request> = {}): Promise<string> {
  const name = `r${++made}`;
  await json({ method: 'POST', path: 'runbooks', body: { name, ...RESTART, ...given }, ...rest });
  return name;
}

const post = (path: string, parameters: object, rest: Partial<Request> = {}): Promise<Response> =>
  send({ method: 'POST', path: `runbooks/${path}`, body: { parameters }, ...rest });

async function run(name: string, parameters: object = {}, rest: Partial<Request> = {}): Promise<string> {
  const response = await post(`${name}/run`, parameters, rest);
  const { id } = (await response.json()) as { id: string };
  expect(response.status).toBe(201);
  return id;
}

async function refused(response: Response): Promise<string> {
  const { error } = (await response.json()) as { error: string | string[] };
  return `${response.status} ${response.headers.get('x-muster-error')}: ${[error].flat().join()}`;
}

const specOf = async (id: string) => {
  const row = await server.test.store.read.selectFrom('push_jobs').select('spec').where('id', '=', id).execute();
  return JSON.parse(row[0]?.spec ?? '{}') as { options: Record<string, unknown> };
};

/** What is in the log of events, as it is stored. */
const everythingTold = async (): Promise<unknown> => {
  const rows = await server.test.store.read.selectFrom('event_log').selectAll().execute();
  const text = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value);
  return rows.map((row) => Object.values(row).map(text));
};

describe('a runbook', () => {
  it('is made, shown, given new versions, and deleted', async () => {
    const name = await create();
    const shown = { name, version: 1, author: 'admin', description: RESTART.description, definition: RESTART };
    expect(await json({ path: `runbooks/${name}` })).toMatchObject(shown);
    const next = { ...RESTART, quorum: '50%' };
    expect(await json({ method: 'PUT', path: `runbooks/${name}`, body: next })).toMatchObject({
      version: 2,
      unchanged: false,
    });
    const same = await json({ method: 'PUT', path: `runbooks/${name}`, body: next });
    expect(same).toMatchObject({ version: 2, unchanged: true, definition: next });
    expect(await json({ path: `runbooks/${name}` })).toMatchObject({ version: 2, definition: next });
    expect(await json({ path: `runbooks/${name}?version=1` })).toMatchObject({ version: 1, definition: RESTART });
    const versions = await json<{ version: number }[]>({ path: `runbooks/${name}/versions` });
    expect(versions.map(({ version }) => version)).toEqual([2, 1]);
    expect(await refused(await send({ path: `runbooks/${name}?version=3` }))).toContain(
      `404 runbook_version_not_found: version of runbook ${name} '3' does not exist`,
    );
    const again = await send({ method: 'POST', path: 'runbooks', body: { name, ...RESTART } });
    expect(await refused(again)).toContain('409 runbook_exists');
    expect((await send({ method: 'DELETE', path: `runbooks/${name}` })).status).toBe(204);
    expect((await send({ path: `runbooks/${name}` })).status).toBe(404);
  });

  it('runs as a push job in the words that it was saved with: no value becomes another word, or is read by a shell', async () => {
    const name = await create();
    const id = await run(name, { service: 'php fpm; reboot', tries: '2' });
    expect(await server.finish(id, '?detail=true')).toMatchObject({
      status: 'complete',
      command: "systemctl restart 'php fpm; reboot' --retries=2",
      runbook: { name, version: 1, parameters: { service: 'php fpm; reboot', tries: '2' } },
      created_by: 'admin',
      target: 'role:web',
      nodes: { succeeded: ['web1', 'web2'] },
    });
    const words = ['systemctl', 'restart', 'php fpm; reboot', '--retries=2'];
    expect((await specOf(id)).options).toEqual({ words });
    const sent = server.nodes.sent.find(({ message }) => message.type === 'prepare' && message.jobId === id);
    expect(sent?.message).toMatchObject({ options: { words } });
  });

  it('runs in an older version when it is asked to', async () => {
    const name = await create();
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RESTART, command: 'true', parameters: {} } });
    const { id } = await json<{ id: string }>({
      method: 'POST',
      path: `runbooks/${name}/run`,
      body: { version: 1, parameters: {} },
    });
    expect(await server.finish(id)).toMatchObject({ command: 'systemctl restart nginx --retries=1' });
  });

  it('shows what a run would be, and starts nothing', async () => {
    const name = await create();
    const before = server.nodes.sent.length;
    const plan = await (await post(`${name}/preview`, { tries: 3 })).json();
    expect(plan).toEqual({
      name,
      version: 1,
      command: 'systemctl restart nginx --retries=3',
      parameters: { service: 'nginx', tries: '3' },
      approval: false,
      target: 'role:web',
      nodes: ['web1', 'web2'],
      restricted: [],
      refusals: [],
      uncertain: ['web1', 'web2'],
      doubts: ['web1', 'web2'].map((name) => ({ node_name: name, reason: 'what is allowed there is not told' })),
      quorum: { needed: 2, least: 0, most: 2, verdict: 'perhaps', waits: false },
    });
    expect(server.nodes.sent.length).toBe(before);
  });

  it('shows the batches that a run would have', async () => {
    const name = await create({ batches: [1, 'rest'], batch_confirm: true });
    const plan = await json({ method: 'POST', path: `runbooks/${name}/preview`, body: { parameters: { tries: 3 } } });
    expect(plan).toMatchObject({ batches: [1, 2], batch_confirm: true });
  });

  it('runs on whoever is up, and says so, where it takes all that are available', async () => {
    server.nodes.enter(server.org.id, 'web3', 'down', { role: 'down' });
    const name = await create({ search: undefined, nodes: ['web1', 'web3'], available: true });
    const { quorum } = await json<{ quorum: object }>({ method: 'POST', path: `runbooks/${name}/preview`, body: {} });
    expect(quorum).toMatchObject({ needed: 1, verdict: 'perhaps' });
    expect(await server.finish(await run(name))).toMatchObject({
      nodes: { succeeded: ['web1'], unavailable: ['web3'] },
    });
    const shown = await json<{ definition: object }>({ path: `runbooks/${name}` });
    expect(shown.definition).toMatchObject({ available: true });
    expect(await create({ available: false, quorum: 1 })).toBe(`r${made}`);
  });

  it('brings its script along, whatever has become of the file since', async () => {
    const script = '#!/bin/sh\necho "$1"\n';
    const parameters = { word: { type: 'string', required: false } };
    const name = await create({ command: undefined, script, args: ['{{word}}', 'x{{word}}'], parameters });
    const id = await run(name, { word: 'a b' });
    expect(await server.finish(id)).toMatchObject({ status: 'complete', script: { name, args: ['a b', 'xa b'] } });
    await server.test.store.transact((trx) => trx.deleteFrom('push_files').execute());
    // A word that is nothing but a parameter which was left out is none.
    expect(await server.finish(await run(name))).toMatchObject({ status: 'complete', script: { args: ['x'] } });
  });

  it('tells of its runs in the audit and as events', async () => {
    const name = await create();
    const id = await run(name, { tries: 4 }, { as: 'normal user' });
    const { read } = server.test.store;
    const entries = read.selectFrom('audit').selectAll().where('action', '=', 'runbook.run').where('target', '=', name);
    const about = await entries.executeTakeFirstOrThrow();
    const detail = { version: 1, job: id, parameters: '{"service":"nginx","tries":"4"}' };
    expect([about.actor, JSON.parse(about.detail ?? '')]).toEqual(['normal', detail]);
    const told = JSON.stringify(await everythingTold());
    for (const type of ['runbook.created', 'runbook.ran']) expect(told).toContain(type);
  });
});

describe('whom a runbook names', () => {
  it('starts it, looks at the job and its output, and may do nothing else', async () => {
    const name = await create();
    const other = await create({ runners: [] });
    const as = { as: 'normal user' } as const;
    const id = await run(name, {}, as);
    await server.finish(id);
    expect(await json({ path: `pushy/jobs/${id}`, ...as })).toMatchObject({ status: 'complete', runbook: { name } });
    expect((await send({ path: `pushy/jobs/${id}/nodes`, ...as })).status).toBe(200);
    expect((await send({ path: `pushy/jobs/${id}/output/web1/stdout`, headers: OCTETS, ...as })).status).not.toBe(403);
    expect(await json<{ name: string }[]>({ path: 'runbooks', ...as })).toContainEqual(
      expect.objectContaining({ name, runnable: true }),
    );
    expect((await json<{ name: string }[]>({ path: 'runbooks', ...as })).map((one) => one.name)).not.toContain(other);
    const denied: Request[] = [
      { path: `pushy/jobs/${await run(name)}` },
      { method: 'PUT', path: `pushy/jobs/${id}/abort` },
      { method: 'POST', path: 'pushy/jobs', body: { command: 'true', nodes: ['web1'] } },
      { path: `runbooks/${other}` },
      { method: 'POST', path: `runbooks/${other}/run`, body: {} },
      { method: 'PUT', path: `runbooks/${name}`, body: RESTART },
      { method: 'DELETE', path: `runbooks/${name}` },
      { method: 'POST', path: 'runbooks', body: { name: 'mine', ...RESTART } },
    ];
    for (const request of denied)
      expect([request.path, (await send({ ...request, ...as })).status]).toEqual([request.path, 403]);
  });

  it('is shown of all push jobs its own that it may look at, and nobody else any', async () => {
    const as = { as: 'normal user' } as const;
    const name = await create();
    const others = await run(name);
    const mine = [await run(name, {}, as), await run(name, {}, as), await run(name, {}, as)];
    for (const id of [others, ...mine]) await server.finish(id);
    const list = async (query: string) =>
      (await json<{ id: string }[]>({ path: `pushy/jobs?${query}`, ...as })).map(({ id }) => id);
    const shown = await list('');
    expect(shown).toEqual(expect.arrayContaining(mine));
    expect(shown).not.toContain(others);
    expect(await list('limit=2')).toEqual(shown.slice(0, 2));
    expect(await list('requester=normal')).toEqual(shown);
    expect(await list('requester=admin')).toEqual([]);
    expect(await json({ path: `pushy/jobs/lookup/${mine[0]}`, ...as })).toHaveLength(1);
    expect(await json({ path: `pushy/jobs/lookup/${others}`, ...as })).toEqual([]);
    expect(await refused(await send({ path: 'pushy/jobs', as: 'member client' }))).toContain('403 forbidden');
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RESTART, runners: [] } });
    const next = await run(await create(), {}, as);
    const left = shown.filter((id) => !mine.includes(id));
    expect(new Set(await list(''))).toEqual(new Set([next, ...left]));
    expect(await list('limit=1')).toHaveLength(1);
    await server.finish(next);
  });

  it('learns what is not there only who may look at all', async () => {
    for (const path of ['nosuch/run', 'nosuch/preview']) {
      expect(await refused(await post(path, {}))).toContain('404 runbook_not_found');
      expect(await refused(await post(path, {}, { as: 'normal user' }))).toContain('403 forbidden');
    }
    const execute = { users: ['grantee'], clients: [], groups: [] };
    await server.auth.nodeGroups.put(server.org, 'granted', { nodes: ['web1'], query: null, execute }, ME);
    const others = await create({ runners: [] }, { as: 'grantee' });
    expect(await refused(await post(`${others}/run`, {}))).toContain('403 forbidden');
  });

  it('is told apart from who is not there, who may yet come', async () => {
    const runners = ['normal', 'group:operators', 'group:oprators', 'nromal', 'client:web9'];
    const name = await create({ runners, approval: { by: ['admin', 'bob'] } });
    const unknown = ['group:oprators', 'nromal', 'client:web9', 'bob'];
    expect(await json({ path: `runbooks/${name}` })).toMatchObject({ unknown });
    expect(await json({ path: `runbooks/${await create()}` })).toMatchObject({ unknown: [] });
  });

  it('looks at the job no more when it is named no more', async () => {
    const name = await create();
    const as = { as: 'normal user' } as const;
    const id = await run(name, {}, as);
    await json({ method: 'PUT', path: `runbooks/${name}`, body: { ...RESTART, runners: [] } });
    expect((await send({ path: `pushy/jobs/${id}`, ...as })).status).toBe(403);
    expect((await post(`${name}/run`, {}, as)).status).toBe(403);
  });

  it('reaches the nodes that its author may run commands on, as that is now', async () => {
    const { auth, org } = server;
    const granted = (...users: string[]) => {
      const execute = { users, clients: [], groups: [] };
      return auth.nodeGroups.put(org, 'granted', { nodes: ['web1'], query: null, execute }, ME);
    };
    await granted('grantee');
    const name = await create({ quorum: 1 }, { as: 'grantee' });
    const job = await server.finish(await run(name, {}, { as: 'normal user' }));
    expect(job).toMatchObject({ nodes: { succeeded: ['web1'], nacked: ['web2'] } });
    await granted('admin');
    expect(await refused(await post(`${name}/run`, {}, { as: 'normal user' }))).toContain('409 runbook_without_author');
  });
});

const OCTETS = { accept: 'application/octet-stream' };

describe('a secret', () => {
  const parameters = { token: { type: 'secret' }, conf: { type: 'file' } };
  const deploy = () =>
    create({ command: 'deploy', parameters, file: 'token={{token}}\n{{conf}}', search: 'role:db', quorum: 1 });
  const given = { token: 'hunter2 {{conf}}', conf: 'a\nb' };
  const isPrepareOf = (id: string) => (message: ServerMessage) => message.type === 'prepare' && message.jobId === id;

  beforeAll(async () => {
    const { auth, org, nodes } = server;
    await auth.principals.createClient(org, { type: 'node', name: 'db1', publicKey: keys.publicKey }, ME);
    nodes.enter(org.id, 'db1', 'run', { role: 'db' });
  });

  it('is fetched by the node that runs the command, with the file, and stands nowhere unsealed', async () => {
    const id = await run(await deploy(), given, { as: 'normal user' });
    await running(server, id);
    const prepare = server.nodes.sent.map(({ message }) => message).find(isPrepareOf(id));
    expect(prepare).toMatchObject({ options: { secretFile: ['token'] } });
    // A value that looks like a parameter is text.
    expect(await fetchSecrets(server, id, 'db1')).toEqual({
      '.job-file': 'token=hunter2 {{conf}}\na\nb',
      '.token': 'hunter2 {{conf}}',
    });
    const whileRunning = await everythingStored(server);
    server.nodes.play('db1', finished(id, 'succeeded'));
    const job = await server.finish(id, '?include_file=true&detail=true');
    expect(job).toMatchObject({ file_specified: true, runbook: { parameters: { token: '***' } } });
    expect(await fetchSecrets(server, id, 'db1')).toBe(404);
    const kept = [whileRunning, JSON.stringify([job, prepare, await everythingTold()])].join();
    expect(kept).toContain('secretFile');
    expect(kept).not.toMatch(/hunter2|aHVudGVyMi/);
    const { spec } = await server.test.store.read
      .selectFrom('push_jobs')
      .select('spec')
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    expect(spec).not.toContain('sealed');
    const audit = await server.auth.audit.page({ orgId: server.org.id, limit: 100 });
    expect(audit).toContainEqual(
      expect.objectContaining({ action: 'secret.fetch', target: expect.stringMatching(/^r\d+ \{\{token\}\}$/) }),
    );
  });

  it('is refused where it is too short to be hidden in output', async () => {
    const answer = await refused(await post(`${await deploy()}/run`, { ...given, token: ' short ' }));
    expect(answer).toContain('400 invalid_field: invalid parameters.token: has less than 8 bytes');
  });

  it('goes to no node that cannot fetch it', async () => {
    server.nodes.speak('db1', 'chef2');
    const id = await run(await deploy(), given);
    await server.finish(id);
    server.nodes.speak('db1', 'native');
    expect(JSON.stringify(await json({ path: `pushy/jobs/${id}/nodes` }))).toContain('cannot carry secretFile');
  });

  it('is sealed with another key when the server gets one, while its job runs', async () => {
    const id = await run(await deploy(), given);
    await running(server, id);
    const { store } = server.test;
    const [former, key] = [SealingKey.of(new Uint8Array(32)), SealingKey.of(new Uint8Array(32).fill(1))];
    const later = new Secrets({ store, auth: server.auth, key, providers: noProviders() });
    const sealed = async () => {
      const row = await store.read
        .selectFrom('push_jobs')
        .select('spec')
        .where('id', '=', id)
        .executeTakeFirstOrThrow();
      const { runbook } = JSON.parse(row.spec) as { runbook: { id: string; sealed: string } };
      return later.unseal(`run ${server.org.id} ${runbook.id}`, runbook.sealed);
    };
    await expect(sealed()).rejects.toMatchObject({ code: 'secret_unreadable' });
    expect(await rekeyRuns({ store, secrets: later }, former)).toBe(1);
    expect(await rekeyRuns({ store, secrets: later }, former)).toBe(0);
    expect(await sealed()).toMatchObject({ '.token': given.token });
    server.nodes.play('db1', finished(id, 'succeeded'));
    await server.finish(id);
  });
});

describe('a value that does not fit is refused with the name of its parameter', () => {
  const parameters = {
    host: { type: 'string', characters: 'a-z0-9.-', min_length: 2, max_length: 8 },
    note: { type: 'string', required: false },
    level: { type: 'number', min: 1, max: 5, whole: true, default: 2 },
    what: { type: 'choice', choices: ['one', 'two'], default: 'one' },
  };
  const command = ['echo', '{{host}}', '{{note}}', '{{level}}', '{{what}}'];

  it.each([
    [{}, 'host: it is missing'],
    [{ host: 'a' }, 'host: must have at least 2 characters'],
    [{ host: 'abcdefghi' }, 'host: must have at most 8 characters'],
    [{ host: 'a_b' }, 'host: may only have characters of a-z0-9.-'],
    [{ host: '--help' }, 'host: must not begin with -'],
    [{ host: 'web', note: 'a\nb' }, 'note: must be one line'],
    [{ host: 'web', level: 'x' }, 'level: must be a number'],
    [{ host: 'web', level: '' }, 'level: must be a number'],
    [{ host: 'web', level: 1.5 }, 'level: must be a whole number'],
    [{ host: 'web', level: 6 }, 'level: must be at most 5'],
    [{ host: 'web', what: 'three' }, 'what: must be one of one, two'],
    [{ host: 'web', other: 'x' }, 'other: there is no such parameter; there is host, note, level, what'],
  ])('%j', async (given, reason) => {
    const name = await create({ command, parameters });
    expect(await refused(await post(`${name}/run`, given))).toContain(
      `400 invalid_field: invalid parameters.${reason}`,
    );
  });
});

describe('a definition that cannot be meant is refused', () => {
  it('also as a new version', async () => {
    const body = { ...RESTART, search: 'role:web AND (' };
    const answer = await refused(await send({ method: 'PUT', path: `runbooks/${await create()}`, body }));
    expect(answer).toContain('400 invalid_selector');
  });

  const secret = { token: { type: 'secret' } };

  it.each([
    [{ command: 'restart {{service}}' }, 'command: has parameters, so write it as a list of words'],
    [{ script: '#!/bin/sh' }, 'command: give either command or script'],
    [{ command: undefined }, 'command: give either command or script'],
    [{ available: true, quorum: '50%' }, 'available: give either available or quorum'],
    [{ available: true, quorum: 1 }, 'available: give either available or quorum'],
    [{ quorum: 0 }, 'quorum: must be at least one node; `available: true`'],
    [{ quorum: '0%' }, 'quorum: must be at least one node'],
    [{ command: ['{{service}}', '{{tries}}'] }, 'command.0: is the program'],
    [
      { command: ['/bin/sh', '-ec', 'x {{service}} {{tries}}'] },
      'command.2: what is given for {{service}} would be run',
    ],
    [
      { command: ['sudo', '-n', 'python3.11', '-c', '{{service}}', '{{tries}}'] },
      'command.4: what is given for {{service}}',
    ],
    [
      { command: ['bash', '-{{service}}', '{{tries}}'] },
      'command.1: what is given for {{service}} would be an option of the program',
    ],
    [{ command: ['awk', '{{service}}', '{{tries}}'] }, 'command.1: what is given for {{service}} would be run'],
    [{ command: ['a', '{{service}}', '{{tries}}', '{{other}}'] }, 'command.3: {{other}} is none of its parameters'],
    [{ command: ['a', '{{service}}'] }, 'parameters.tries: is used nowhere'],
    [{ command: ['a', '{{token}}'], parameters: secret }, 'command.1: {{token}} is a secret'],
    [{ command: 'a', file: '{{token}}', parameters: { token: { type: 'secret', default: 'x' } } }, 'token.default'],
    [{ parameters: { Bad: { type: 'string' } } }, 'parameters.Bad: a name is small letters'],
    [{ parameters: { ...RESTART.parameters, service: { type: 'choice' } } }, 'service.choices: it is missing'],
    [{ parameters: { ...RESTART.parameters, tries: { type: 'number', default: 'x' } } }, 'tries.default: must be a'],
    [
      { parameters: { ...RESTART.parameters, tries: { type: 'number', characters: 'a' } } },
      'does not go with the type',
    ],
    [{ search: undefined }, 'at least one node must be supplied'],
    [{ search: 'role:web AND (' }, 'invalid_selector: invalid search at character 14: '],
    [{ concurrency: 0 }, 'concurrency: must not be 0'],
    [
      { script: 'echo hi', command: undefined },
      'invalid script: does not begin with a line that names its interpreter',
    ],
    [{ script: '#!/bin/sh\r\nhi', command: undefined }, 'invalid script: has lines that end as on Windows'],
    [
      { script: '#!/bin/sh', command: undefined, args: ['{{service}}{{tries}}'], signature: 'AAAA' },
      'signature: cannot be of',
    ],
  ])('%j', async (given, reason) => {
    const body = { name: 'never', ...RESTART, ...given };
    const answer = await refused(await send({ method: 'POST', path: 'runbooks', body }));
    expect(answer).toMatch(/^400 /);
    expect(answer).toContain(reason);
  });
});
