import { createHash, createPrivateKey, randomBytes } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Clock } from '@muster/base';
import { generateKeyPair } from '@muster/signing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sweepJobFiles } from '../../src/execution/job-file.js';
import { placeOf } from '../../src/files/allowed-paths.js';
import { JobFiles } from '../../src/files/job-files.js';
import { requestFile } from '../../src/link/file-request.js';
import { scratch } from '../support/agent.js';

const { privateKey } = await generateKeyPair();
const content = randomBytes(200_000);
const sha256 = createHash('sha256').update(content).digest('hex');
/** Pauses between attempts take no time. */
const clock: Pick<Clock, 'after'> = {
  after(_ms, work) {
    const handle = setImmediate(work);
    return { cancel: () => clearImmediate(handle) };
  },
};

let place: Awaited<ReturnType<typeof scratch>>;
let server: Server;
let answer: RequestListener;
let files: JobFiles;
let ranges: (string | undefined)[];
let dir: string;

beforeEach(async () => {
  place = await scratch();
  dir = join(place.dir, 'srv');
  mkdirSync(dir);
  ranges = [];
  server = createServer((request, response) => {
    ranges.push(request.headers.range);
    answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const identity = { server: url, org: 'acme', name: 'node1', key: createPrivateKey(privateKey), ca: null };
  files = new JobFiles({
    clock,
    source: (jobId, sha256, from, signal) => requestFile(identity, { jobId, sha256, from, now: Date.now() }, signal),
  });
});
afterEach(async () => {
  await files.drop('j1');
  server.closeAllConnections();
  server.close();
  await place.dispose();
});

const stage = (dest: string, signal = new AbortController().signal, hash = sha256) =>
  files.stage(
    {
      jobId: 'j1',
      options: { uploads: [{ sha256: hash, size: content.length, dest, mode: 0o640 }] },
      account: null,
      fileDir: join(place.dir, 'files'),
      policy: { upload: (path) => placeOf([`${dir}/**`], path) },
    },
    signal,
  );
const from = (range: string | undefined) => Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1]);
/** So many bytes of what is asked for, and then the connection is cut. */
const cutAfter =
  (bytes: number): RequestListener =>
  (request, response) => {
    const rest = content.subarray(from(request.headers.range));
    response.writeHead(206, { 'content-length': rest.length });
    if (rest.length <= bytes) return void response.end(rest);
    response.write(rest.subarray(0, bytes), () => response.destroy());
  };

describe('files of a job', () => {
  it('goes on where it was when the connection is cut, and is in its place only when the job starts', async () => {
    answer = cutAfter(60_000);
    const dest = join(dir, 'x');
    writeFileSync(dest, 'before');
    expect(await stage(dest)).toBeNull();
    expect(ranges.length).toBeGreaterThan(2);
    const starts = ranges.map(from);
    expect(starts).toEqual([...starts].sort((a, b) => a - b));
    expect(readFileSync(dest, 'utf8')).toBe('before');
    await files.place('j1');
    expect(readFileSync(dest).equals(content)).toBe(true);
    expect(statSync(dest).mode & 0o777).toBe(0o640);
    expect(readdirSync(dir)).toEqual(['x']);
  });

  it('a file with another content than its hash says is refused, and nothing is left of it', async () => {
    answer = cutAfter(Number.POSITIVE_INFINITY);
    expect(await stage(join(dir, 'x'), undefined, 'b'.repeat(64))).toMatch(/another content than its SHA-256/);
    expect(readdirSync(dir)).toEqual([]);
  });

  it('what a killed agent left is removed with the other old files', async () => {
    answer = cutAfter(Number.POSITIVE_INFINITY);
    expect(await stage(join(dir, 'x'))).toBeNull();
    expect(readdirSync(dir)).toHaveLength(1);
    const fileDir = join(place.dir, 'files');
    await sweepJobFiles(fileDir, 1000, Date.now() + 5000);
    expect([...readdirSync(dir), ...readdirSync(fileDir)]).toEqual([]);
  });

  it('a server that refuses it is not asked again', async () => {
    answer = (_request, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ error: ['no such file'] }));
    };
    expect(await stage(join(dir, 'x'))).toBe('the server does not give a file of the job: no such file');
    expect(ranges).toHaveLength(1);
  });

  it('a server that sends nothing again and again is given up', async () => {
    answer = (_request, response) => void response.destroy();
    expect(await stage(join(dir, 'x'))).toMatch(/could not be fetched/);
  });

  it('a job that is aborted meanwhile leaves nothing', async () => {
    const stop = new AbortController();
    answer = (_request, response) => {
      response.writeHead(206, { 'content-length': content.length });
      response.write(content.subarray(0, 1000), () => stop.abort());
    };
    await expect(stage(join(dir, 'x'), stop.signal)).rejects.toThrow();
    expect(readdirSync(dir)).toEqual([]);
  });

  it.each([
    ['over a link in its path', () => symlinkSync(place.dir, join(dir, 'out')), 'out/x', /'.*out' is a link/],
    ['into a directory that is not there', () => undefined, 'none/x', /'.*none' does not exist/],
    ['in the place of a directory', () => mkdirSync(join(dir, 'd')), 'd', /is a directory/],
    ['outside of what is allowed', () => undefined, '../x', /may not be put at/],
  ])('is not written %s', async (_what, arrange, path, refusal) => {
    arrange();
    answer = cutAfter(Number.POSITIVE_INFINITY);
    expect(await stage(`${dir}/${path}`)).toMatch(refusal);
    expect(existsSync(join(place.dir, 'x'))).toBe(false);
  });

  it('replaces a link, and not what it leads to', async () => {
    writeFileSync(join(place.dir, 'outside'), 'kept');
    symlinkSync(join(place.dir, 'outside'), join(dir, 'x'));
    answer = cutAfter(Number.POSITIVE_INFINITY);
    expect(await stage(join(dir, 'x'))).toBeNull();
    await files.place('j1');
    expect(readFileSync(join(place.dir, 'outside'), 'utf8')).toBe('kept');
    expect(readFileSync(join(dir, 'x')).equals(content)).toBe(true);
  });

  it('a directory that becomes a link after the vote changes nothing', async () => {
    mkdirSync(join(dir, 'a'));
    answer = cutAfter(Number.POSITIVE_INFINITY);
    expect(await stage(join(dir, 'a', 'x'))).toBeNull();
    renameSync(join(dir, 'a'), join(dir, 'b'));
    symlinkSync(place.dir, join(dir, 'a'));
    await files.place('j1');
    expect(existsSync(join(place.dir, 'x'))).toBe(false);
    expect(readFileSync(join(dir, 'b', 'x')).equals(content)).toBe(true);
  });

  it('a script without a line that names its interpreter is refused', async () => {
    const text = Buffer.from('echo hello\n');
    answer = (_request, response) => {
      response.writeHead(206);
      response.end(text);
    };
    const hash = createHash('sha256').update(text).digest('hex');
    const refused = await files.stage(
      {
        jobId: 'j1',
        options: { script: { sha256: hash, size: text.length, name: 's.sh', args: [] } },
        account: null,
        fileDir: join(place.dir, 'files'),
        policy: { upload: () => null },
      },
      new AbortController().signal,
    );
    expect(refused).toMatch(/such as #!\/bin\/sh/);
    expect(readdirSync(join(place.dir, 'files'))).toEqual([]);
  });
});
