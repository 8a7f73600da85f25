import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Acceptance } from '@muster/jobs';
import { MusterError } from '@muster/jobs/errors';
import { Runbooks } from '@muster/push';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type Personas, sharedKey } from '../../platform/test/support/personas.js';
import { startTestServer, type TestServer } from './support/test-server.js';

const ORG = '/organizations/default';
const RULES = `${ORG}/rules`;
/** Making a service is the event that these tests have happen. */
const ON = "type = 'auth.service.create' AND target LIKE 'w%'";

let server: TestServer;
let personas: Personas;
let made = 0;

beforeAll(async () => {
  server = await startTestServer();
  personas = await server.personas();
  const queue = { name: 'resize', plugin: 'thumbnail' };
  expect((await server.api.post(`${ORG}/queues`, queue)).status).toBe(201);
  const runbook = {
    name: 'greet',
    command: ['echo', '{{who}}'],
    nodes: ['web1', 'web2'],
    parameters: { who: { type: 'string', max_length: 10 } },
  };
  const reply = await server.api.post(`${ORG}/runbooks`, runbook);
  expect(reply.status, reply.text).toBe(201);
});
afterEach(async () => {
  for (const { name } of (await server.api.get(RULES)).body as { name: string }[]) {
    await server.api.delete(`${RULES}/${name}`);
  }
  await server.api.delete(`${CALENDARS}/freeze`);
});
afterAll(() => server.stop());

const CALENDARS = `${ORG}/calendars`;
/** Which lets nothing start now. */
const calendar = () =>
  server.api.post(CALENDARS, { name: 'freeze', entries: [{ dates: '2000-01-01..2199-12-31', why: 'freeze' }] });
const create = (more: object = {}) =>
  server.api.post(RULES, { name: 'r', on: ON, task: { queue: 'resize', params: { file: '{target}.png' } }, ...more });
/** Answers the name of the new service. */
async function happens(beginning = 'w'): Promise<string> {
  const name = `${beginning}${made++}`;
  const { publicKey: public_key } = sharedKey();
  expect((await server.api.post(`${ORG}/services`, { name, public_key })).status).toBe(201);
  return name;
}
type Run = { readonly outcome: string; readonly run: string; readonly reason: string | null; readonly event: string };
const runs = async (rule = 'r') => (await server.api.get(`${RULES}/${rule}/runs`)).body as readonly Run[];
const task = async (id: string) =>
  (await server.api.get(`${ORG}/tasks/${id}`)).body as { readonly params: Readonly<Record<string, unknown>> };

/** With a system and an app, made once. */
async function jobsCanRun(): Promise<void> {
  const root = join(server.dataDir, 'work');
  mkdirSync(root, { recursive: true });
  await server.api.post(`${ORG}/systems/v2`, { name: 'here', type: 'local', root, default: true });
  await server.api.post(`${ORG}/apps/v2`, {
    name: 'say',
    version: '1.0',
    command: ['/bin/echo', 'hello'],
    parameters: [{ id: 'word', value: { type: 'string' } }],
  });
}
type Submitted = {
  readonly status: string;
  readonly parameters: object;
  readonly name: string;
  readonly owner: string;
};
const submitted = async (id: string) =>
  ((await server.api.get(`${ORG}/jobs/v2/${id}`)).body as { readonly result: Submitted }).result;

describe('a rule', () => {
  it('adds a task for each event that its selector chooses, once, with attributes of the event', async () => {
    const { status, body } = await create();
    expect([status, body]).toMatchObject([201, { task: { queue: 'resize', params: { file: '{target}.png' } } }]);
    const first = await happens();
    await happens('x');
    await expect.poll(runs).toMatchObject([{ outcome: 'started', event: 'auth.service.create', reason: null }]);
    await server.restart();
    const second = await happens();
    await expect.poll(async () => (await runs()).length).toBe(2);
    const files = await Promise.all((await runs()).map(async ({ run }) => (await task(run)).params.file));
    expect(files).toEqual([`${second}.png`, `${first}.png`]);
    const audit = await server.api.get(`${ORG}/audit?action=rule.run&limit=5`);
    expect(audit.body).toHaveLength(2);
  });

  it('starts a runbook, on one of its nodes when it says so', async () => {
    const runbook = { name: 'greet', parameters: { who: '{target}' }, node: 'web2' };
    expect((await create({ task: undefined, runbook })).status).toBe(201);
    const name = await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'started' }]);
    const [{ run } = { run: '' }] = await runs();
    const job = (await server.api.get(`${ORG}/pushy/jobs/${run}`)).body;
    expect(job).toMatchObject({ runbook: { name: 'greet', parameters: { who: name } } });
    expect(JSON.stringify(job)).toContain('web2');
    expect(JSON.stringify(job)).not.toContain('web1');
  });

  it.each([
    [{ who: '{target}', x: 'y' }, 'parameters.x: there is no such parameter; there is who'],
    [{}, 'parameters.who: it is missing'],
  ])('that can never start with %j is not made', async (parameters, reason) => {
    const { status, body } = await create({ task: undefined, runbook: { name: 'greet', parameters } });
    expect([status, body]).toMatchObject([400, { error: expect.stringContaining(reason) }]);
  });

  it.each(['{target', 'target}', '{}', '{a b}', 'web{{target}'])(
    'on the node %s is not made: its brace is of no attribute',
    async (node) => {
      const runbook = { name: 'greet', parameters: { who: '{target}' }, node };
      const { status, body } = await create({ task: undefined, runbook });
      const error = `invalid runbook.node: '${node}' has a brace that is of no attribute: write {NAME}, as {host}`;
      expect([status, body]).toMatchObject([400, { error: expect.stringContaining(error) }]);
    },
  );

  it.each([
    [{ runbook: { name: 'greet', parameters: { who: '{target}' }, node: 'db9' } }, 'db9 is none of'],
    [{ runbook: { name: 'greet', parameters: { who: '{nothing}' } } }, 'the event has no attribute nothing'],
    [{ runbook: { name: 'greet', parameters: { who: 'far too long {target}' } } }, 'who'],
  ])('that cannot start %j says why, and is told of', async (work, reason) => {
    await create({ task: undefined, ...work });
    await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'failed', run: null }]);
    expect((await runs())[0]?.reason).toContain(reason);
  });

  it('runs as often as it may, counts the rest, and tells of the first of them', async () => {
    await create({ at_most: { runs: 2, seconds: 3600 } });
    for (let at = 0; at < 4; at++) await happens();
    const skipped = async () => ((await server.api.get(`${RULES}/r`)).body as { skipped: number }).skipped;
    await expect.poll(skipped).toBe(2);
    expect(await runs()).toHaveLength(2);
  });

  it('does not start itself, nor is it started by what rules tell', async () => {
    const task = { queue: 'resize', params: { after: '{task}' } };
    await create({ on: "type = 'task.added' OR type LIKE 'rule.%'", task, at_most: { runs: 50, seconds: 60 } });
    expect((await server.api.post(`${ORG}/queues/resize/tasks`, { params: {} })).status).toBe(201);
    await expect.poll(runs).toMatchObject([{ outcome: 'started' }]);
    const skipped = async () => ((await server.api.get(`${RULES}/r`)).body as { skipped: number }).skipped;
    await expect.poll(skipped).toBe(1);
    expect(await runs()).toHaveLength(1);
  });

  it('submits a job for each event, once, with attributes of the event', async () => {
    await jobsCanRun();
    const job = { appId: 'say-1.0', name: 'greet {target}', archive: false, parameters: { word: '{target}' } };
    expect((await create({ task: undefined, job })).body).toMatchObject({ kind: 'job', job, task: null });
    const name = await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'started', kind: 'job', reason: null }]);
    await server.restart();
    const [{ run } = { run: '' }] = await runs();
    expect(await runs()).toHaveLength(1);
    expect(await submitted(run)).toMatchObject({ name: `greet ${name}`, owner: 'admin', parameters: { word: name } });
    await expect.poll(async () => (await submitted(run)).status).toBe('FINISHED');
  });

  it('whose job cannot be queued now waits, and submits it once when it can', async () => {
    await jobsCanRun();
    const away = new MusterError('job_queue_unavailable', { reason: 'played' });
    const submit = vi.spyOn(Acceptance.prototype, 'submitOnce').mockRejectedValueOnce(away);
    await create({
      task: undefined,
      job: { appId: 'say-1.0', name: 'later', archive: false, parameters: { word: '{target}' } },
    });
    const name = await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'waiting', reason: expect.stringContaining('played') }]);
    // Looks at what waits.
    await calendar();
    await expect.poll(runs).toMatchObject([{ outcome: 'started', reason: null, held_until: null }]);
    expect(submit).toHaveBeenCalledTimes(2);
    submit.mockRestore();
    expect(await submitted((await runs())[0]?.run ?? '')).toMatchObject({ parameters: { word: name } });
  });

  it('whose job is refused has failed, and says why', async () => {
    await jobsCanRun();
    await create({ task: undefined, job: { appId: 'none-1.0', name: 'x', archive: false } });
    await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'failed', reason: expect.stringContaining('none-1.0') }]);
    const audit = await server.api.get(`${ORG}/audit?action=rule.run&limit=1`);
    expect(audit.body).toMatchObject([
      { outcome: 'failed', detail: { kind: 'job', reason: expect.stringContaining('none-1.0') } },
    ]);
  });

  it('that is off starts nothing, and later nothing of what happened meanwhile', async () => {
    await create({ enabled: false });
    await happens();
    expect((await server.api.call('PATCH', `${RULES}/r`, { body: { enabled: true } })).status).toBe(200);
    const name = await happens();
    await expect.poll(runs).toHaveLength(1);
    expect((await task((await runs())[0]?.run ?? '')).params).toEqual({ file: `${name}.png` });
  });

  it('can be tried on what happened: nothing is started', async () => {
    const name = await happens();
    const runbook = { name: 'greet', parameters: { who: '{target}', x: '{nothing}' } };
    const body = { on: ON, runbook, seconds: 3600, at_most: { runs: 1000, seconds: 60 } };
    const tried = (await server.api.post(`${RULES}/dry-run`, body)).body as { last: object[]; matched: number };
    expect(tried).toMatchObject({ started: 0, complete: true });
    expect(tried.matched).toBeGreaterThan(0);
    expect(tried.last.at(-1)).toMatchObject({ outcome: 'failed', reason: 'the event has no attribute nothing' });
    const fine = (await server.api.post(`${RULES}/dry-run`, { on: `${ON} AND target = '${name}'` })).body;
    expect(fine).toMatchObject({ matched: 1, started: 1, skipped: 0 });
    expect((await server.api.get(RULES)).body).toEqual([]);
  });

  it.each([
    [{ runbook: { name: 'greet', parameters: { who: '{target}' }, node: 'x{target}' } }],
    [{ runbook: { name: 'greet', parameters: { who: 'far too long {target}' } } }],
    [{ runbook: { name: 'nowhere' } }],
    [{ task: { queue: 'resize', params: { file: '{nothing}' } } }],
  ])('tried with %j says what a run of it is told', async (work) => {
    const nowhere = { name: 'nowhere', command: 'true', search: 'role:none' };
    expect([201, 409]).toContain((await server.api.post(`${ORG}/runbooks`, nowhere)).status);
    expect((await create({ task: undefined, ...work })).status).toBe(201);
    const name = await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'failed' }]);
    const looked = vi.spyOn(Runbooks.prototype, 'version');
    const body = { on: ON, seconds: 3600, at_most: { runs: 1000, seconds: 60 }, ...work };
    const all = (await server.api.post(`${RULES}/dry-run`, body)).body as { matched: number };
    expect(looked).toHaveBeenCalledTimes('runbook' in work ? 1 : 0);
    looked.mockRestore();
    expect(all).toMatchObject({ started: 0, failed: all.matched });
    const tried = (await server.api.post(`${RULES}/dry-run`, { ...body, on: `${ON} AND target = '${name}'` })).body;
    const reason = (await runs())[0]?.reason;
    expect(tried).toMatchObject({ matched: 1, started: 0, failed: 1, last: [{ outcome: 'failed', reason }] });
  });

  it('is tried by who may start what it starts', async () => {
    const tried = { on: ON, runbook: { name: 'greet', parameters: { who: '{target}' }, node: 'web1' } };
    expect((await server.api.as(personas.normal).post(`${RULES}/dry-run`, tried)).status).toBe(403);
    const { status, body } = await server.api.post(`${RULES}/dry-run`, { ...tried, seconds: 3600 });
    expect([status, body]).toMatchObject([200, { failed: 0 }]);
  });

  it('leaves out what falls into a calendar that it heeds, and says why', async () => {
    await calendar();
    await create({ not_during: ['freeze'] });
    await happens();
    await expect
      .poll(runs)
      .toMatchObject([{ outcome: 'skipped', run: null, reason: expect.stringContaining('freeze') }]);
    expect((await server.api.get(`${RULES}/r`)).body).toMatchObject({ skipped: 1, not_during: ['freeze'] });
    expect((await server.api.delete(`${CALENDARS}/freeze`)).status).toBe(409);
    const tried = { on: ON, not_during: ['freeze'], seconds: 3600, at_most: { runs: 1000, seconds: 60 } };
    expect((await server.api.post(`${RULES}/dry-run`, tried)).body).toMatchObject({ started: 0 });
  });

  it('counts as a run nothing that a calendar left out', async () => {
    await calendar();
    const once = { not_during: ['freeze'], at_most: { runs: 1, seconds: 600 } };
    await create(once);
    await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'skipped' }]);
    expect((await server.api.call('PATCH', `${RULES}/r`, { body: { not_during: [] } })).status).toBe(200);
    await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'started' }, { outcome: 'skipped' }]);
  });

  it('counts as a run nothing that could not be started, nor when it is tried', async () => {
    const runbook = { name: 'greet', parameters: { who: '{target}' }, node: '{target}' };
    const once = { task: undefined, runbook, at_most: { runs: 1, seconds: 600 } };
    await create(once);
    await happens();
    await happens();
    const failed = { outcome: 'failed', run: null };
    await expect.poll(runs).toMatchObject([failed, failed]);
    const tried = (await server.api.post(`${RULES}/dry-run`, { on: ON, seconds: 3600, ...once })).body;
    expect(tried).toMatchObject({ started: 0, skipped: 0 });
  });

  it('that waits starts it at the end of the calendar’s time, once, with the attributes of then, also over a restart', async () => {
    await calendar();
    await create({ not_during: ['freeze'], blackout: 'wait' });
    const names = [await happens(), await happens()];
    await expect.poll(runs).toMatchObject([{ outcome: 'waiting', run: null }, { outcome: 'waiting' }]);
    await server.restart();
    expect(await runs()).toMatchObject([{ outcome: 'waiting' }, { outcome: 'waiting' }]);
    await server.api.call('PATCH', `${CALENDARS}/freeze`, { body: { entries: [{ dates: '2000-01-01' }] } });
    await expect
      .poll(runs)
      .toMatchObject([{ outcome: 'started', reason: null, held_until: null }, { outcome: 'started' }]);
    const files = await Promise.all((await runs()).map(async ({ run }) => (await task(run)).params.file));
    expect(files.sort()).toEqual(names.map((name) => `${name}.png`).sort());
    const audit = await server.api.get(`${ORG}/audit?action=rule.run&limit=2`);
    expect(audit.body).toHaveLength(2);
  });

  it('that is switched off does not start what waited', async () => {
    await calendar();
    await create({ not_during: ['freeze'], blackout: 'wait' });
    await happens();
    await expect.poll(runs).toMatchObject([{ outcome: 'waiting' }]);
    await server.api.call('PATCH', `${RULES}/r`, { body: { enabled: false } });
    await expect.poll(runs).toMatchObject([{ outcome: 'skipped', reason: 'the rule was switched off' }]);
  });

  it('is made by who may start what it starts, and needs a signed request', async () => {
    const normal = server.api.as(personas.normal);
    expect((await normal.post(RULES, { name: 'n', on: ON, task: { queue: 'resize', params: {} } })).status).toBe(403);
    await create();
    expect((await normal.call('PATCH', `${RULES}/r`, { body: { enabled: false } })).status).toBe(403);
    expect((await normal.delete(`${RULES}/r`)).status).toBe(403);
    expect((await create()).status).toBe(409);
  });

  it.each([
    [{ on: 'type =' }, 'on'],
    [{ task: { queue: 'none' } }, 'none'],
    [{ task: { queue: 'resize', colour: 1 } }, 'colour'],
    [{ task: undefined }, 'runbook'],
    [{ runbook: { name: 'greet' } }, 'task'],
    [{ job: { appId: 'say-1.0' } }, 'job'],
    [{ task: undefined, job: { name: 'x' } }, 'job.appId'],
    [{ at_most: { runs: 0, seconds: 1 } }, 'at_most'],
    [{ name: '' }, 'name'],
  ])('with %j is refused by the name of its field', async (more, field) => {
    const { status, text } = await create(more);
    expect([400, 404]).toContain(status);
    expect(text).toContain(field);
  });
});
