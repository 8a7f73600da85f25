import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS } from '@muster/wire';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeJobFile, sweepJobFiles, writeJobFile } from '../../src/execution/job-file.js';
import { scratch } from '../support/agent.js';

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

describe('files of jobs', () => {
  it('FILEDIR-1: a file of a job is there after it, and removed once older than the expiry', async () => {
    const path = await writeJobFile(place.dir, Buffer.from('x'), null);
    const { mtimeMs } = await stat(path);
    await sweepJobFiles(place.dir, 2000, mtimeMs + 2000);
    expect(existsSync(path)).toBe(true);
    await sweepJobFiles(place.dir, 2000, mtimeMs + 2001);
    expect(existsSync(path)).toBe(false);
  });
  it('FILEDIR-2: another file in the directory is left alone', async () => {
    const other = join(place.dir, 'other');
    await writeFile(other, 'x');
    await utimes(other, 1, 1);
    await sweepJobFiles(place.dir, 2000, Date.now());
    expect(existsSync(other)).toBe(true);
  });
  it('a job file is private and never the same twice', async () => {
    const paths = [
      await writeJobFile(place.dir, Buffer.from('x'), null),
      await writeJobFile(place.dir, Buffer.from('y'), null),
    ];
    expect(new Set(paths).size).toBe(2);
    for (const path of paths) expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await readFile(paths[0] ?? '', 'utf8')).toBe('x');
  });
  it('a missing directory is swept without complaint', async () => {
    await sweepJobFiles(join(place.dir, 'none'), 1, Date.now());
  });
  it('raw is taken as it is, base64 decoded, anything else refused', () => {
    expect(decodeJobFile('raw:a:b')).toEqual({ bytes: Buffer.from('a:b') });
    expect(decodeJobFile('base64:AP8=')).toEqual({ bytes: Buffer.from([0, 255]) });
    for (const file of ['plain', 'hex:00', 'base64:!', 'base64:AP8'])
      expect(decodeJobFile(file)).toHaveProperty('refused');
    expect(decodeJobFile(`raw:${'x'.repeat(LIMITS.fileBytes)}`)).toHaveProperty('bytes');
    expect(decodeJobFile(`raw:${'x'.repeat(LIMITS.fileBytes + 1)}`)).toHaveProperty('refused');
  });
});

it('a directory for job files is made where it is missing', async () => {
  await mkdir(join(place.dir, 'a'));
  expect(existsSync(await writeJobFile(join(place.dir, 'a', 'b', 'c'), Buffer.from('x'), null))).toBe(true);
});
