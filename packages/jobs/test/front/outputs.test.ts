import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cleanPath, isArchived } from '../../src/controller/outputs.js';
import { type System, SystemTrouble } from '../../src/systems/types.js';
import type { Job } from '../../src/types.js';
import { type FrontServer, HERE, STORE, startFront } from '../support/front-server.js';
import { newJob } from '../support/jobs.js';

let front: FrontServer;
let around: string;
let root: string;
let id: string;

beforeAll(async () => {
  around = mkdtempSync(join(tmpdir(), 'muster-outputs-'));
  root = join(around, 'root');
  front = await startFront();
  front.systems.set('here', { ...HERE, root });
  front.systems.set('store', { ...STORE, root: join(root, 'store') });
  id = (await front.submit()).id;
  const work = join(root, 'work');
  mkdirSync(join(work, 'sub dir'), { recursive: true });
  writeFileSync(join(work, 'out.txt'), '0123456789');
  writeFileSync(join(work, 'page.html'), '<script>');
  writeFileSync(join(work, 'sub dir', 'ä?.dat'), 'deep');
  writeFileSync(join(root, 'secret'), 'not of the job');
  await set({ workPath: work });
});
afterAll(async () => {
  await front.close();
  rmSync(around, { recursive: true });
});

async function set(patch: Partial<Job>): Promise<void> {
  const job = (await front.jobs.find(id)) as Job;
  await front.jobs.note(job, patch);
}

const media = (path: string, headers = {}, method = 'GET') =>
  front.send({ method, path: `/${id}/outputs/media/${path}`, headers });

describe('listings of outputs (sheet §8.6)', () => {
  it('tell of each file what clients read, without an entry for the directory itself', async () => {
    const list = await front.get(`/${id}/outputs/listings`);
    const self = `${front.url}/organizations/default/jobs/v2/${id}`;
    expect(list.map((entry: { path: string }) => entry.path)).toEqual(['/out.txt', '/page.html', '/sub dir']);
    expect(list[0]).toEqual({
      name: 'out.txt',
      path: '/out.txt',
      lastModified: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*\.\d{3}Z$/),
      length: 10,
      permission: 'READ_WRITE',
      permissions: 'READ_WRITE',
      mimeType: 'text/plain',
      format: 'unknown',
      type: 'file',
      _links: {
        self: { href: `${self}/outputs/media/out.txt` },
        system: { href: `${front.url}/organizations/default/systems/v2/here` },
        parent: { href: self },
      },
    });
    expect(list[2]).toMatchObject({ format: 'folder', type: 'dir', mimeType: 'text/directory' });
    expect(list[2]._links.self.href).toBe(`${self}/outputs/listings/sub%20dir`);
  });

  it('go down, page, and tell of one file', async () => {
    const below = await front.get(`/${id}/outputs/listings/sub%20dir/`);
    expect(below.map((entry: { path: string }) => entry.path)).toEqual(['/sub dir/ä?.dat']);
    expect((await front.get(`/${id}/outputs/listings?limit=1&offset=1`))[0].name).toBe('page.html');
    expect((await front.get(`/${id}/outputs/listings/out.txt`)).map((one: { name: string }) => one.name)).toEqual([
      'out.txt',
    ]);
  });

  it('say 404 of what there is not', async () => {
    const { status, message } = await front.send({ path: `/${id}/outputs/listings/nope` });
    expect([status, message]).toEqual([404, `JOBS_OUTPUT_NOT_FOUND Job ${id} has no output /nope.`]);
    const folder = await front.send({ path: `/${id}/outputs/media/sub%20dir` });
    const why = ': it is a folder, and listed at outputs/listings';
    expect([folder.status, folder.message]).toEqual([
      404,
      `JOBS_OUTPUT_NOT_FOUND Job ${id} has no output /sub dir${why}.`,
    ]);
    const { id: fresh } = await front.submit();
    expect((await front.send({ path: `/${fresh}/outputs/listings` })).status).toBe(404);
  });
});

describe('bytes of outputs (sheet §8.6)', () => {
  it('come whole, with their type and length, and as no page of this server', async () => {
    const { status, text, headers } = await media('out.txt');
    expect([status, text, headers.get('content-type'), headers.get('content-length')]).toEqual([
      200,
      '0123456789',
      'text/plain',
      '10',
    ]);
    const page = await media('page.html');
    expect(page.headers.get('content-security-policy')).toContain('sandbox');
    expect((await media('sub%20dir/%C3%A4%3F.dat')).text).toBe('deep');
  });

  it.each([
    ['bytes=2-4', 206, '234', 'bytes 2-4/10'],
    ['bytes=7-', 206, '789', 'bytes 7-9/10'],
    ['bytes=-2', 206, '89', 'bytes 8-9/10'],
    ['bytes=0-100', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=4-2', 200, '0123456789', null],
    ['lines=1-2', 200, '0123456789', null],
  ])('come in part: %s', async (range, expected, bytes, described) => {
    const { status, text, headers } = await media('out.txt', { range });
    expect([status, text, headers.get('content-range')]).toEqual([expected, bytes, described]);
  });

  it('are 416 beyond the end', async () => {
    const { status, headers, body } = await media('out.txt', { range: 'bytes=10-' });
    expect([status, headers.get('content-range'), body.status]).toEqual([416, 'bytes */10', 'error']);
  });

  it('are only announced to HEAD, and saved with force', async () => {
    const head = await media('out.txt', {}, 'HEAD');
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', '10']);
    const forced = await media('sub%20dir/%C3%A4%3F.dat?force=true');
    expect(forced.headers.get('content-disposition')).toBe("attachment; filename*=UTF-8''%C3%A4%3F.dat");
  });

  it.each(['../secret', '..%2Fsecret', '%2e%2e/secret', '~/secret', '/../../secret', 'sub%20dir/..%2f..%2fsecret'])(
    'are never those of %s outside',
    async (path) => {
      const { status, text } = await front.send({ path: `/${id}/outputs/media/${path}` });
      expect(status).toBe(404);
      expect(text).not.toContain('not of the job');
    },
  );

  it.each([
    ['a link to it', (work: string) => symlinkSync('../../secret-of-server', join(work, 'out')), 'media/out'],
    ['a link above it', (work: string) => symlinkSync('../..', join(work, 'out')), 'media/out/secret-of-server'],
    ['a list of links', (work: string) => symlinkSync('../..', join(work, 'out')), 'listings/out'],
  ])('are never those behind %s that leads out of the root of the system', async (_, link, path) => {
    const { id: other } = await front.submit();
    const work = join(root, 'linked');
    mkdirSync(work);
    writeFileSync(join(root, '..', 'secret-of-server'), 'not of the system');
    link(work);
    await front.jobs.note((await front.jobs.find(other)) as Job, { workPath: work });
    const { status, text, message } = await front.send({ path: `/${other}/outputs/${path}` });
    rmSync(work, { recursive: true });
    expect(status).toBe(404);
    expect(message).toMatch(
      /has no output \/[^:]*: what it names leads out of the root of its system, and is not followed\.$/,
    );
    expect(message).not.toContain(root);
    expect(text).not.toContain('not of the system');
  });

  it('are none of a directory', async () => {
    expect((await media('sub%20dir')).status).toBe(404);
  });

  it('are for those who may read the job', async () => {
    const read = (as: string) => front.send({ path: `/${id}/outputs/media/out.txt`, as });
    expect((await read('anna')).status).toBe(403);
    await front.send({ method: 'POST', path: `/${id}/pems`, body: { username: 'anna', permission: 'READ' } });
    expect((await read('anna')).text).toBe('0123456789');
  });
});

describe('where outputs are', () => {
  const done = { archive: true, archivePath: 'a', status: 'FINISHED', remoteOutcome: 'FINISHED' } as const;
  const failed = { ...done, status: 'FAILED', remoteOutcome: 'FAILED', condition: 'JOB_REMOTE_OUTCOME_ERROR' } as const;

  it.each([
    [true, done],
    [false, { ...done, archive: false }],
    [false, { ...done, status: 'ARCHIVING' as const }],
    [false, { ...done, remoteOutcome: 'FAILED_SKIP_ARCHIVE' as const }],
    [true, failed],
    [true, { ...failed, remoteCondition: 'SCHEDULER_TIMEOUT', condition: 'SCHEDULER_TIMEOUT' }],
    [false, { ...failed, condition: 'JOB_ARCHIVING_FAILED' }],
    [false, { ...failed, remoteOutcome: 'FAILED_SKIP_ARCHIVE' as const }],
    [false, { ...done, status: 'STOPPED' as const }],
  ])('archived: %s for %j', (expected, given) => expect(isArchived(newJob('x', given))).toBe(expected));

  it('is the archive once it is whole', async () => {
    const { id: other } = await front.submit({ archive: true, archivePath: 'kept' });
    mkdirSync(join(root, 'store', 'kept'), { recursive: true });
    writeFileSync(join(root, 'store', 'kept', 'kept.txt'), 'kept');
    let job = (await front.jobs.find(other)) as Job;
    for (const to of ['PENDING', 'PROCESSING_INPUTS', 'STAGING_JOB', 'SUBMITTING', 'RUNNING', 'CLEANING_UP'] as const) {
      job = await front.jobs.change(job, { to, patch: { remoteOutcome: 'FINISHED', workPath: join(root, 'work') } });
    }
    job = await front.jobs.change(job, { to: 'ARCHIVING' });
    const names = async () =>
      (await front.get(`/${other}/outputs/listings`)).map((entry: { name: string }) => entry.name);
    expect(await names()).toContain('out.txt');
    await front.jobs.change(job, { to: 'FINISHED' });
    expect(await names()).toEqual(['kept.txt']);
  });

  it('stays below the folder, whatever the path is', () => {
    const part = fc.constantFrom('..', '.', '~', '', 'a', '~root', '...', '..~', '~..', 'b c');
    fc.assert(
      fc.property(fc.array(fc.oneof(part, fc.string())), (parts) => {
        const clean = cleanPath(parts.join('/')).split('/');
        expect(clean).not.toContain('..');
        expect(clean[0] === '' && clean.length > 1).toBe(false);
      }),
    );
  });
});

describe('a system that cannot be used', () => {
  it('is 504, and says why', async () => {
    const away = {
      open: async (_: string, name: string) => {
        throw new SystemTrouble(name, 'CONNECTION_FAILURE', 'connection refused');
      },
    };
    const server = await startFront({ opened: away });
    try {
      const { id: job } = await server.submit();
      await server.jobs.note((await server.jobs.find(job)) as Job, { workPath: '/w' });
      const { status, message } = await server.send({ path: `/${job}/outputs/listings` });
      expect(status).toBe(504);
      expect(message).toContain('are on system here, which cannot be used now: connection refused');
    } finally {
      await server.close();
    }
  });
});

export type { System };
