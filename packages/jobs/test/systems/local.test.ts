import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { systemClock } from '@muster/base';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalFiles } from '../../src/systems/local/files.js';
import { localConnection } from '../../src/systems/local/local.js';
import { below } from '../../src/systems/paths.js';
import { FileTrouble } from '../../src/systems/types.js';
import { connectionConformance } from './support/connection-conformance.js';

connectionConformance('local', async () => {
  const scratch = await mkdtemp(join(tmpdir(), 'muster-local-'));
  return {
    scratch,
    doubtful: 0,
    connection: localConnection({ name: 'here', root: scratch }, systemClock),
    close: () => rm(scratch, { recursive: true }),
  };
});

describe('links that change while files are used', () => {
  let directory: string;
  let files: LocalFiles;
  const at = (...names: string[]): string => join(directory, ...names);
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'muster-links-'));
    for (const place of ['root/own', 'outside']) {
      await mkdir(at(place), { recursive: true });
      await writeFile(at(place, 'f'), place);
    }
    await symlink(at('root'), at('system'));
    files = new LocalFiles({ name: 'here', root: at('system') });
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** As often as files are used, the link leads elsewhere. */
  async function changing(work: () => Promise<unknown>): Promise<number> {
    let on = true;
    const change = (async () => {
      for (let turn = 0; on; turn++) {
        await symlink(turn % 2 === 0 ? at('outside') : 'own', at('root', 'new'));
        await rename(at('root', 'new'), at('root', 'link'));
      }
    })();
    let refused = 0;
    for (let turn = 0; turn < 400; turn++) {
      await work().catch((error: unknown) => {
        expect(error).toBeInstanceOf(FileTrouble);
        refused += 1;
      });
    }
    on = false;
    await change;
    return refused;
  }

  it('lead to no bytes outside of the root, which may be behind a link itself', async () => {
    await symlink('own', at('root', 'link'));
    expect(await readFile(at('system', 'link', 'f'), 'utf8')).toBe('root/own');
    const refused = await changing(async () => {
      const pieces = await (await files.read(at('system', 'link', 'f'))).toArray();
      expect(Buffer.concat(pieces).toString()).toBe('root/own');
    });
    expect(refused).toBeGreaterThan(0);
  });

  it('have nothing written or removed outside of the root', async () => {
    await symlink('own', at('root', 'link'));
    await changing(() => files.write(at('system', 'link', 'g'), () => Readable.from([Buffer.from('x')]), {}));
    await changing(() => files.remove(at('system', 'link', 'f')));
    await changing(() => files.makeDirectory(at('system', 'link', 'd', 'e')));
    expect(await readdir(at('outside'))).toEqual(['f']);
    expect((await readdir(at('root', 'own'))).sort()).toEqual(['d', 'g']);
  });

  it('a tree deeper than any path is removed', async () => {
    const long = join(...Array.from({ length: 18 }, () => 'n'.repeat(200)));
    for (const name of ['own', 'more']) await mkdir(at('root', name, long), { recursive: true });
    await rename(at('root', 'more'), at('root', 'own', long, 'more'));
    await expect(readdir(at('root', 'own', long, 'more', long))).rejects.toMatchObject({ code: 'ENAMETOOLONG' });
    await files.remove(at('system', 'own'));
    expect(await readdir(at('root'))).toEqual([]);
  });
});

describe('a path that somebody named', () => {
  it.each([
    ['a', '/root/a'],
    ['/a/b', '/root/a/b'],
    ['./a//b/.', '/root/a/b'],
    ['//etc/passwd', '/root/etc/passwd'],
    ['', '/root'],
    ['/', '/root'],
    ['..a/...', '/root/..a/...'],
  ])('%j stays below its directory', (path, expected) => {
    expect(below('/root', path).replace(/\/$/, '')).toBe(expected);
  });

  it.each(['..', 'a/../..', '/../a', 'a/..', '\0'])('%j is refused', (path) => {
    expect(() => below('/root', path)).toThrow(expect.objectContaining({ problem: 'INVALID_PATH' }));
  });
});
