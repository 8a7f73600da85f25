import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Connection } from '../../../src/systems/types.js';

export interface Opened {
  readonly connection: Connection;
  /** The root of the system: a directory of this machine too. */
  readonly scratch: string;
  /** Bytes at the end of a broken transfer of which it is not sure. */
  readonly doubtful: number;
  close(): Promise<void>;
}

const AWKWARD = `it's "a" $(touch owned) \`b\`\n&;|<>*?[~#!\\ ü€ -rf`;

/** What every connection does, whatever it goes through. */
export function connectionConformance(name: string, open: () => Promise<Opened>): void {
  describe(`files and commands over ${name}`, () => {
    let opened: Opened;
    let connection: Connection;
    beforeAll(async () => {
      opened = await open();
      connection = opened.connection;
    });
    afterAll(() => opened.close());

    const at = (...names: string[]): string => join(opened.scratch, ...names);
    const fresh = async (): Promise<string> => {
      const directory = at(randomUUID());
      await mkdir(directory);
      return directory;
    };
    const text = async (stream: Readable): Promise<string> => {
      const pieces: Buffer[] = [];
      for await (const piece of stream) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    };
    const from = (content: string | Buffer) => (start: number) => Readable.from([Buffer.from(content).subarray(start)]);

    it('a file is written whole, with its permissions, and read back in parts', async () => {
      const path = join(await fresh(), AWKWARD.replaceAll('/', ''));
      const content = randomBytes(3_000_000);
      expect(await connection.files.write(path, from(content), { mode: 0o640 })).toBe(content.length);
      expect((await readFile(path)).equals(content)).toBe(true);
      expect((await stat(path)).mode & 0o777).toBe(0o640);
      const pieces: Buffer[] = [];
      for await (const piece of await connection.files.read(path)) pieces.push(piece);
      expect(Buffer.concat(pieces).equals(content)).toBe(true);
      const range = Buffer.from(content.subarray(1_000_001, 1_000_011)).toString('hex');
      const part: Buffer[] = [];
      for await (const piece of await connection.files.read(path, { start: 1_000_001, end: 1_000_011 })) {
        part.push(piece);
      }
      expect(Buffer.concat(part).toString('hex')).toBe(range);
      expect(await text(await connection.files.read(path, { start: 5, end: 5 }))).toBe('');
      expect(await text(await connection.files.read(path, { start: 3_000_000 }))).toBe('');
    });

    it('an empty file too', async () => {
      const path = join(await fresh(), 'empty');
      expect(await connection.files.write(path, from(''), { size: 0 })).toBe(0);
      expect(await readFile(path, 'utf8')).toBe('');
      expect(await text(await connection.files.read(path))).toBe('');
    });

    it('what is there is replaced at once, and never seen half', async () => {
      const directory = await fresh();
      const path = join(directory, 'f');
      await connection.files.write(path, from('first'), {});
      const halves = async function* () {
        yield Buffer.from('sec');
        expect(await readFile(path, 'utf8')).toBe('first');
        yield Buffer.from('ond');
      };
      await connection.files.write(path, () => Readable.from(halves()), {});
      expect(await readFile(path, 'utf8')).toBe('second');
      expect(await readdir(directory)).toEqual(['f']);
    });

    it('a transfer that broke goes on where it was', async () => {
      const directory = await fresh();
      const path = join(directory, 'f');
      const content = randomBytes(2_000_000);
      const broken = 1_500_000;
      const breaks = async function* () {
        for (let at = 0; at < broken; at += 10_000) yield content.subarray(at, at + 10_000);
        throw new Error('the source is gone');
      };
      const size = content.length;
      await expect(connection.files.write(path, () => Readable.from(breaks()), { size })).rejects.toThrow(
        'the source is gone',
      );
      expect(await connection.files.stat(path)).toBeNull();
      const asked: number[] = [];
      const rest = (start: number): Readable => {
        asked.push(start);
        return Readable.from([content.subarray(start)]);
      };
      expect(await connection.files.write(path, rest, { size })).toBe(size);
      expect(asked).toEqual([broken - opened.doubtful]);
      expect((await readFile(path)).equals(content)).toBe(true);
      expect(await readdir(directory)).toEqual(['f']);
    });

    it('fewer or more bytes than announced are an error, and no file', async () => {
      const directory = await fresh();
      const path = join(directory, 'f');
      for (const content of ['123', '12345']) {
        await expect(connection.files.write(path, from(content), { size: 4 })).rejects.toMatchObject({
          name: 'FileTrouble',
          problem: 'WRONG_SIZE',
        });
        expect(await readdir(directory)).toEqual([]);
      }
    });

    it('a write stops when it is told to, though its source is silent', async () => {
      const directory = await fresh();
      const stop = new AbortController();
      const silent = new Readable({ read: () => setImmediate(() => stop.abort(new Error('told to stop'))) });
      const write = connection.files.write(join(directory, 'f'), () => silent, { signal: stop.signal });
      await expect(write).rejects.toThrow('told to stop');
      expect(await readdir(directory)).toEqual([]);
    });

    it('a directory is listed in order, page by page, with what each is', async () => {
      const directory = await fresh();
      for (const name of ['c', 'a', AWKWARD]) await writeFile(join(directory, name), name);
      await chmod(join(directory, 'a'), 0o604);
      await mkdir(join(directory, 'b'), { mode: 0o750 });
      await symlink('/nowhere', join(directory, 'd'));
      const entries = await connection.files.list(directory, { limit: 10, offset: 0 });
      expect(entries?.map(({ name, type }) => [name, type])).toEqual([
        ['a', 'file'],
        ['b', 'dir'],
        ['c', 'file'],
        ['d', 'link'],
        [AWKWARD, 'file'],
      ]);
      expect(entries?.[0]).toMatchObject({ path: 'a', length: 1, mode: 0o604 });
      expect(Math.abs((entries?.[0]?.modified ?? 0) - Date.now())).toBeLessThan(60_000);
      const page = await connection.files.list(directory, { limit: 2, offset: 1 });
      expect(page?.map(({ name }) => name)).toEqual(['b', 'c']);
      expect(await connection.files.list(join(directory, 'none'), { limit: 1, offset: 0 })).toBeNull();
      expect(await connection.files.list(join(directory, 'a'), { limit: 1, offset: 0 })).toBeNull();
    });

    it('a path tells what it leads to, and null is nothing', async () => {
      const directory = await fresh();
      await writeFile(join(directory, 'f'), '12345');
      await symlink('f', join(directory, 'link'));
      await symlink('nowhere', join(directory, 'broken'));
      expect(await connection.files.stat(join(directory, 'link'))).toMatchObject({ type: 'file', length: 5 });
      expect(await connection.files.stat(directory)).toMatchObject({ type: 'dir' });
      for (const gone of ['none', 'none/deeper', 'f/below', 'broken']) {
        expect(await connection.files.stat(join(directory, gone))).toBeNull();
      }
    });

    it('directories are made with those above them, and twice', async () => {
      const path = join(await fresh(), 'a', AWKWARD, 'c');
      await connection.files.makeDirectory(path, 0o750);
      await connection.files.makeDirectory(path, 0o750);
      expect((await stat(path)).mode & 0o777).toBe(0o750);
      await writeFile(join(path, 'f'), '');
      await expect(connection.files.makeDirectory(join(path, 'f'))).rejects.toMatchObject({
        problem: 'NOT_A_DIRECTORY',
      });
    });

    it('what is removed goes whole, and what links in it lead to stays', async () => {
      const directory = await fresh();
      const kept = join(directory, 'kept');
      await mkdir(kept);
      await writeFile(join(kept, 'f'), '');
      const gone = join(directory, 'gone');
      await mkdir(join(gone, AWKWARD, 'deep'), { recursive: true });
      await writeFile(join(gone, AWKWARD, 'deep', 'f'), '');
      await symlink(kept, join(gone, 'link'));
      await connection.files.remove(gone);
      await connection.files.remove(gone);
      expect(await readdir(directory)).toEqual(['kept']);
      expect(await readdir(kept)).toEqual(['f']);
      await symlink(kept, join(directory, 'link'));
      await connection.files.remove(join(directory, 'link'));
      await connection.files.remove(join(kept, 'f'));
      expect(await readdir(directory)).toEqual(['kept']);
      expect(await readdir(kept)).toEqual([]);
    });

    it('links are followed inside the root, and none out of it', async () => {
      const outside = await mkdtemp(join(tmpdir(), 'muster-outside-'));
      try {
        await writeFile(join(outside, 'secret'), 'secret');
        await mkdir(join(outside, 'deep'));
        const directory = await fresh();
        const inRoot = join(directory, 'in');
        await mkdir(inRoot);
        await symlink('in', join(directory, 'link'));
        await connection.files.write(join(directory, 'link', 'f'), from('1'), {});
        await connection.files.makeDirectory(join(directory, 'link', 'd', 'e'));
        await symlink(join(inRoot, 'f'), join(directory, 'file'));
        expect(await text(await connection.files.read(join(directory, 'file')))).toBe('1');
        expect((await readdir(inRoot)).sort()).toEqual(['d', 'f']);
        const page = { limit: 9, offset: 0 };
        expect((await connection.files.list(join(directory, 'link'), page))?.map(({ name }) => name)).toEqual([
          'd',
          'f',
        ]);

        await symlink(outside, join(directory, 'out'));
        await symlink(join('..', '..', '..', outside, 'secret'), join(directory, 'up'));
        await symlink(join(outside, 'secret'), join(inRoot, 'secret'));
        const { files } = connection;
        const [out, secret] = [join(directory, 'out'), join(directory, 'out', 'secret')];
        const acts: readonly [string, () => Promise<unknown>][] = [
          [out, () => files.stat(out)],
          [out, () => files.list(out, page)],
          [secret, () => files.stat(secret)],
          [secret, () => files.read(secret)],
          [join(out, 'deep'), () => files.list(join(out, 'deep'), page)],
          [join(directory, 'up'), () => files.read(join(directory, 'up'))],
          [join(directory, 'link', 'secret'), () => files.read(join(directory, 'link', 'secret'))],
          [join(directory, 'up'), () => files.write(join(directory, 'up'), from(''), {})],
          [out, () => files.write(join(out, 'new'), from(''), {})],
          [out, () => files.makeDirectory(join(out, 'new'))],
          [out, () => files.makeDirectory(join(out, 'new', 'newer'))],
          [out, () => files.remove(secret)],
          [outside, () => files.stat(outside)],
        ];
        for (const [at, act] of acts) {
          const refused = await act().then(
            () => 'nothing',
            ({ problem, message }) => [problem, message],
          );
          const message = expect.stringMatching(`^${at}.* leads out of the root of system `);
          expect(refused).toEqual(['INVALID_PATH', message]);
        }
        expect((await readdir(outside)).sort()).toEqual(['deep', 'secret']);
        expect((await connection.files.list(directory, page))?.map(({ name, type }) => `${name} ${type}`)).toEqual([
          'file link',
          'in dir',
          'link link',
          'out link',
          'up link',
        ]);
        await connection.files.remove(directory);
        expect((await readdir(outside)).sort()).toEqual(['deep', 'secret']);
      } finally {
        await rm(outside, { recursive: true });
      }
    });

    it.each([
      ['relative', 'relative/path', 'is not absolute'],
      ['with ..', '/a/../b', "holds '..'"],
      ['with a zero byte', '/a\0b', 'holds a zero byte'],
      ['too long', `/${'a/'.repeat(3000)}`, 'is longer than 4096 bytes'],
    ])('a path %s is refused', async (_, path, problem) => {
      const { files } = connection;
      const page = { limit: 1, offset: 0 };
      const acts = [
        () => files.stat(path),
        () => files.list(path, page),
        () => files.read(path),
        () => files.write(path, from(''), {}),
        () => files.makeDirectory(path),
        () => files.remove(path),
      ];
      for (const act of acts) {
        await expect(act()).rejects.toMatchObject({
          problem: 'INVALID_PATH',
          message: expect.stringContaining(problem),
        });
      }
    });

    it('the root of all is not removed', async () => {
      for (const path of ['/', '//', '/./', '/.']) {
        await expect(connection.files.remove(path)).rejects.toMatchObject({ problem: 'INVALID_PATH' });
      }
    });

    it('problems of a path are told as such', async () => {
      const directory = await fresh();
      const { files } = connection;
      const file = join(directory, 'f');
      await writeFile(file, '');
      await expect(files.read(join(directory, 'none'))).rejects.toMatchObject({ problem: 'NOT_FOUND' });
      await expect(files.read(directory)).rejects.toMatchObject({ problem: 'NOT_A_FILE' });
      await expect(files.write(directory, from(''), {})).rejects.toMatchObject({ problem: 'NOT_A_FILE' });
      await expect(files.write(join(directory, 'none', 'f'), from(''), {})).rejects.toMatchObject({
        problem: 'NOT_FOUND',
      });
    });

    it('a pipe is no file, and holds nobody', async () => {
      const directory = await fresh();
      expect(await connection.exec(['mkfifo', join(directory, 'pipe')])).toMatchObject({ code: 0 });
      await expect(connection.files.read(join(directory, 'pipe'))).rejects.toMatchObject({ problem: 'NOT_A_FILE' });
      expect(await connection.files.stat(directory)).toMatchObject({ type: 'dir' });
    });

    it('words reach a program as they are', async () => {
      const { code, stdout } = await connection.exec(['printf', '%s\\0', AWKWARD, '', '-n', '$HOME']);
      expect({ code, stdout }).toEqual({ code: 0, stdout: `${[AWKWARD, '', '-n', '$HOME'].join('\0')}\0` });
    });

    it('input, both outputs, code and signal arrive', async () => {
      const script = 'cat; echo err >&2; exit 3';
      expect(await connection.exec(['sh', '-c', script], { input: 'in' })).toEqual({
        code: 3,
        signal: null,
        stdout: 'in',
        stderr: 'err\n',
      });
      expect(await connection.exec(['sh', '-c', 'kill -9 $$'])).toMatchObject({ code: null, signal: 'SIGKILL' });
      expect(await connection.exec(['true'], { input: 'x'.repeat(500_000) })).toMatchObject({ code: 0 });
    });

    it('a program that is not there is 127', async () => {
      expect(await connection.exec(['muster-no-such-program'])).toMatchObject({ code: 127 });
    });

    it('a command that takes too long is a trouble of the system', async () => {
      await expect(connection.exec(['sleep', '1000'], { timeoutMs: 300 })).rejects.toMatchObject({
        name: 'SystemTrouble',
        kind: 'CONNECTION_TIMEOUT',
      });
    });

    it('a command ends when it is told to', async () => {
      const stop = new AbortController();
      const run = connection.exec(['sleep', '1000'], { signal: stop.signal });
      setImmediate(() => stop.abort(new Error('told to stop')));
      await expect(run).rejects.toThrow('told to stop');
      await expect(connection.exec(['true'], { signal: stop.signal })).rejects.toThrow('told to stop');
    });

    it('a command that prints without end is stopped', async () => {
      await expect(connection.exec(['yes'])).rejects.toMatchObject({ kind: 'TRANSMISSION_FAILURE' });
    });

    it('many commands at once all get their answer', async () => {
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, at) => connection.exec(['sh', '-c', `echo ${at}`])),
      );
      expect(answers.map(({ stdout }) => stdout)).toEqual(Array.from({ length: 40 }, (_, at) => `${at}\n`));
    });

    it('commands do not see the variables of this process', async () => {
      process.env.MUSTER_TEST_OF_SYSTEMS = 'secret';
      try {
        expect((await connection.exec(['env'])).stdout).not.toContain('MUSTER_TEST_OF_SYSTEMS');
      } finally {
        delete process.env.MUSTER_TEST_OF_SYSTEMS;
      }
    });
  });
}
