import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ME } from '../../../platform/test/support/personas.js';
import type { Job } from '../../src/types.js';
import { type FrontServer, HERE, SUBMISSION, startFront } from '../support/front-server.js';

/** What the command line of Agave and its Python client send, and what they read of the answers. */

let front: FrontServer;
let root: string;
let authorization: string;

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'muster-clients-'));
  front = await startFront();
  front.systems.set('here', { ...HERE, root });
  const about = { bearer: { organization: null, name: 'jdoe' }, ttlSeconds: 3600 };
  authorization = `Bearer ${(await front.auth.tokens.createAccessToken(about, ME)).token}`;
});
afterAll(async () => {
  await front.close();
  rmSync(root, { recursive: true });
});

async function call(path: string, init: RequestInit = {}) {
  const headers = { authorization, accept: '*/*', ...init.headers };
  const response = await fetch(`${front.url}/jobs/v2/${path}`, { ...init, headers });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: what it is depends on the command
  return { status: response.status, text, json: text.startsWith('{') ? (JSON.parse(text) as any) : undefined };
}

const form = (body: string): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body,
});
const json = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});

async function submitted(): Promise<string> {
  // Later than all others.
  front.clock.advance(1);
  const { json: answer } = await call('?pretty=true', json(SUBMISSION));
  expect(answer.status).toBe('success');
  return answer.result.id;
}

async function finished(id: string): Promise<void> {
  let job = (await front.jobs.find(id)) as Job;
  for (const to of ['PENDING', 'PROCESSING_INPUTS', 'STAGING_JOB', 'SUBMITTING', 'RUNNING'] as const) {
    job = await front.jobs.change(job, { to, patch: { workPath: join(root, id) } });
  }
  job = await front.jobs.change(job, { to: 'CLEANING_UP', patch: { remoteOutcome: 'FINISHED' } });
  await front.jobs.change(job, { to: 'FINISHED' });
}

describe('the command line', () => {
  it('jobs-submit sends a file, and JSON', async () => {
    const parts = new FormData();
    parts.set('fileToUpload', new Blob([JSON.stringify(SUBMISSION)], { type: 'application/octet-stream' }), 'job.json');
    const { json: answer } = await call('?pretty=true', { method: 'POST', body: parts });
    expect([answer.status, answer.result.id.endsWith('-007')]).toEqual(['success', true]);
    expect(await submitted()).toMatch(/-007$/);
  });

  it('jobs-list, jobs-search and jobs-status read ids and statuses', async () => {
    const id = await submitted();
    const list = await call('?pretty=true&limit=250&offset=0');
    expect(list.json.result[0]).toMatchObject({ id, status: 'ACCEPTED' });
    const search = await call('?pretty=true&limit=5&name=demo&system=here&submittime.after=yesterday');
    expect(search.json.result).toEqual([]);
    const status = await call(`${id}/status?pretty=true`);
    expect(status.json.result.status).toBe('ACCEPTED');
  });

  it('jobs-history prints descriptions, and watches for the end', async () => {
    const id = await submitted();
    await finished(id);
    const { json: answer } = await call(`${id}/history?pretty=true&limit=100`);
    const statuses = answer.result.map((entry: { status: string }) => entry.status);
    expect([statuses[0], statuses.at(-1)]).toEqual(['ACCEPTED', 'FINISHED']);
    expect(answer.result.every((entry: { description: string }) => entry.description !== '')).toBe(true);
  });

  it('jobs-search means a day by a day', async () => {
    const id = await submitted();
    const found = async (query: string) =>
      (await call(`?pretty=true&limit=250&${query}`)).json.result.map((job: { id: string }) => job.id);
    expect(await found('lastupdated=today')).toContain(id);
    expect(await found('lastupdated=yesterday')).not.toContain(id);
  });

  it('jobs-stop, jobs-resubmit, jobs-delete and jobs-restore', async () => {
    const id = await submitted();
    expect((await call(`${id}?pretty=true`, form('action=stop'))).json.status).toBe('success');
    const again = await call(`${id}?pretty=true`, form('action=resubmit'));
    expect([again.status, again.json.status, again.json.result.id === id]).toEqual([202, 'success', false]);
    const conflicts = { ignoreInputConflicts: false, ignoreParameterConflicts: true };
    expect((await call(`${id}?pretty=true`, json({ action: 'resubmit', ...conflicts }))).json.status).toBe('success');
    expect((await call(`${id}?pretty=true`, { method: 'DELETE' })).json.status).toBe('success');
    const restored = await call(`${id}?pretty=true`, json({ action: 'restore' }));
    expect(restored.json.result).toMatchObject({ id, visible: true });
  });

  it('jobs-pems-update and jobs-pems-list', async () => {
    const id = await submitted();
    expect((await call(`${id}/pems/anna?pretty=true`, form('permission=READ'))).json.status).toBe('success');
    const { json: answer } = await call(`${id}/pems?pretty=true`);
    expect(answer.result.map((one: { username: string }) => one.username)).toEqual(['jdoe', 'anna']);
    // Of one user it is no list.
    const one = await call(`${id}/pems/anna?pretty=true`);
    expect(one.json.result.permission).toMatchObject({ read: true, write: false });
  });

  it('jobs-output-list and jobs-output-get, also of a whole tree', async () => {
    const id = await submitted();
    mkdirSync(join(root, id, 'deep'), { recursive: true });
    writeFileSync(join(root, id, 'demo.out'), 'done\n');
    writeFileSync(join(root, id, 'deep', 'b.txt'), 'b');
    await finished(id);
    const got: Record<string, string> = {};
    const fetchAll = async (path: string): Promise<void> => {
      const { text, json: answer } = await call(`${id}/outputs/listings/${path}`);
      // It looks for this in what it downloads, without blanks.
      expect(text).toContain('"status":"success"');
      for (const entry of answer.result) {
        const child = entry.path.replace(/^\//, '');
        expect(entry.permissions).toBe(entry.permission);
        if (entry.type === 'dir') await fetchAll(child);
        else got[child] = (await call(`${id}/outputs/media/${child}`)).text;
      }
    };
    await fetchAll('');
    expect(got).toEqual({ 'deep/b.txt': 'b', 'demo.out': 'done\n' });
    const part = await call(`${id}/outputs/media/demo.out`, { headers: { range: 'bytes=0-3' } });
    expect([part.status, part.text]).toEqual([206, 'done']);
    const missing = await call(`${id}/outputs/media/nope`);
    expect(missing.text).toContain('"status":"error"');
  });

  it('prints the message of a refusal', async () => {
    const { status, json: answer } = await call('?pretty=true', json({ name: 'x' }));
    expect([status, answer.status, answer.message]).toEqual([400, 'error', 'ALOE_NULL_PARAMETER appId: it is missing']);
  });
});

describe('the Python client', () => {
  it('reads results in the envelope, and lists with a filter', async () => {
    const id = await submitted();
    const { json: answer } = await call('?limit=1&offset=0&filter=id,status&naked=false');
    expect(answer.result).toEqual([{ id, status: 'ACCEPTED' }]);
    expect(answer.version > '2.2.22-r7deb380').toBe(true);
  });

  it('walks through what a job has as fields, and reads times where there are any', async () => {
    const id = await submitted();
    const { json: job } = await call(id);
    for (const name of ['inputs', 'parameters']) expect(job.result[name]).toEqual(expect.any(Object));
    expect(job.result.notifications).not.toBeNull();
    const { json: history } = await call(`${id}/history?limit=250&offset=0`);
    for (const { created } of history.result) expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect((await call(`${id}/pems`, { method: 'DELETE' })).json).toMatchObject({ status: 'success', result: null });
  });

  it('manages a job with JSON', async () => {
    const id = await submitted();
    const { json: answer } = await call(id, json({ action: 'stop' }));
    expect(answer.result.status).toBe('STOPPED');
    expect((await call(`${id}/pems`, json({ username: 'bob', permission: 'READ' }))).status).toBe(201);
    expect((await call(`${id}/pems/bob`, { method: 'DELETE' })).json.status).toBe('success');
  });

  it('names an output, a folder or the root by a path that it puts into the address as it is', async () => {
    const id = await submitted();
    mkdirSync(join(root, id, 'deep'), { recursive: true });
    writeFileSync(join(root, id, 'demo.out'), 'done\n');
    writeFileSync(join(root, id, 'deep', 'b.txt'), 'b');
    await finished(id);
    const listed = async (path: string) => {
      const { status, json: answer } = await call(`${id}/outputs/listings/${path}?limit=250&offset=0`);
      expect([status, answer.status]).toEqual([200, 'success']);
      // Its model of a file has no field that is a list or an object, and reads the time.
      for (const { lastModified } of answer.result) expect(lastModified).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      return answer.result.map((entry: { path: string }) => entry.path).toSorted();
    };
    for (const path of ['', '/']) expect(await listed(path)).toEqual(['/deep', '/demo.out']);
    for (const path of ['deep', '/deep', 'deep/']) expect(await listed(path)).toEqual(['/deep/b.txt']);
    for (const path of ['deep/b.txt', '/deep/b.txt']) {
      expect((await call(`${id}/outputs/media/${path}`)).text).toBe('b');
    }
  });

  it('deletes with an empty body, and takes what is no result', async () => {
    const id = await submitted();
    await call(id, json({ action: 'stop' }));
    const { status, json: answer } = await call(id, { method: 'DELETE', headers: { 'content-length': '0' } });
    expect([status, answer.status]).toEqual([200, 'success']);
    expect(answer.result === null || typeof answer.result === 'object').toBe(true);
    expect((await call(`?limit=250&offset=0`)).json.result.map((one: { id: string }) => one.id)).not.toContain(id);
  });

  it('asks other services of Agave for what is not here, and reads why', async () => {
    const paths = ['profiles/v2/me', 'files/v2/listings/', 'notifications/v2/', 'clients/v2', 'tenants', 'token'];
    for (const path of paths) {
      const response = await fetch(`${front.url}/${path}`, { headers: { authorization } });
      expect([path, response.status, await response.json()]).toEqual([
        path,
        404,
        {
          status: 'error',
          message: expect.stringContaining('of Agave there are jobs, apps and systems here'),
          version: '2.4.0',
        },
      ]);
    }
  });
});
