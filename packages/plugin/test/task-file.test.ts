import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  isoTime,
  prepareTaskDirectory,
  readResponse,
  removeTaskFiles,
  taskDocument,
  taskFilesOf,
  writeNewFile,
  writeTaskFiles,
} from '../src/contract/index.js';

const ID = '0123456789abcdef01234567';
let parent: string;
let directory: string;

beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), 'muster-task-file-'));
  directory = join(parent, 'tasks');
  await prepareTaskDirectory(directory, null);
});
afterEach(() => rmSync(parent, { recursive: true }));

describe('the document of a task', () => {
  it('is what Disbatch hands to a plugin: as it was when claimed', () => {
    const task = {
      id: ID,
      attempt: 2,
      queue: { id: 'f'.repeat(24), name: 'resize' },
      plugin: 'thumbnail',
      params: { file: 'a.png' },
      ctime: Date.UTC(2026, 0, 31, 7, 0, 0),
      mtime: Date.UTC(2026, 0, 31, 7, 0, 0, 250),
      timeoutSeconds: null,
      outputLimit: 1,
    };
    expect(taskDocument(task, 'node1')).toEqual({
      _id: ID,
      queue: 'f'.repeat(24),
      status: -1,
      params: { file: 'a.png' },
      node: 'node1',
      ctime: '2026-01-31T07:00:00Z',
      mtime: '2026-01-31T07:00:00.25Z',
      stdout: null,
      stderr: null,
    });
  });

  it.each([
    [0, '1970-01-01T00:00:00Z'],
    [1, '1970-01-01T00:00:00.001Z'],
    [10_100, '1970-01-01T00:00:10.1Z'],
  ])('tells the time %i as %s', (ms, text) => {
    expect(isoTime(ms)).toBe(text);
  });
});

describe('the files of a task', () => {
  it('are ID.json and ID-response.json, and ids cannot lead elsewhere', () => {
    expect(taskFilesOf('/t', ID)).toEqual({ task: `/t/${ID}.json`, response: `/t/${ID}-response.json` });
    expect(() => taskFilesOf('/t', '../x')).toThrow("'../x' is no id of a task");
  });

  it('are written for their owner only, whatever the umask', async () => {
    const files = taskFilesOf(directory, ID);
    await writeTaskFiles(files, '{}', null);
    expect(lstatSync(files.task).mode & 0o777).toBe(0o600);
    expect(lstatSync(directory).mode & 0o777).toBe(0o700);
    expect(readFileSync(files.task, 'utf8')).toBe('{}');
  });

  it('are never written through a link, nor over what is there', () => {
    const [path, other] = [join(directory, 'new'), join(parent, 'other')];
    symlinkSync(other, path);
    expect(() => writeNewFile(path, 'text', null)).toThrow(`cannot write ${path}: file already exists`);
    expect(existsSync(other)).toBe(false);
  });

  it('replace what an earlier run left, links among it, and touch nothing that these lead to', async () => {
    const files = taskFilesOf(directory, ID);
    const other = join(parent, 'other');
    writeFileSync(other, 'mine');
    symlinkSync(other, files.task);
    writeFileSync(files.response, '{"status":1}');
    await writeTaskFiles(files, 'new', null);
    expect(readFileSync(other, 'utf8')).toBe('mine');
    expect(lstatSync(files.task).isFile()).toBe(true);
    expect(existsSync(files.response)).toBe(false);
  });

  it('are not written when something is left that cannot be deleted', async () => {
    const files = taskFilesOf(directory, ID);
    mkdirSync(files.response);
    await expect(writeTaskFiles(files, '{}', null)).rejects.toThrow(`cannot delete ${files.response}`);
  });

  it('are gone after the run', async () => {
    const files = taskFilesOf(directory, ID);
    await writeTaskFiles(files, '{}', null);
    writeFileSync(files.response, '{}');
    expect(await removeTaskFiles(files)).toEqual([]);
    expect(existsSync(files.task) || existsSync(files.response)).toBe(false);
    expect(await removeTaskFiles(files)).toEqual([]);
  });
});

describe('the directory of a task', () => {
  it('is no link, and nobody else can write to it', async () => {
    const link = join(parent, 'link');
    symlinkSync(directory, link);
    await expect(prepareTaskDirectory(link, null)).rejects.toThrow('is not a directory, or a link to one');
    chmodSync(directory, 0o770);
    await expect(prepareTaskDirectory(directory, null)).rejects.toThrow('can be written to by others than its owner');
  });

  it('belongs to whom the plugin runs as', async () => {
    const uid = (process.getuid?.() ?? 0) + 1;
    const expected = `belongs to user ${uid - 1}, not to ${uid}`;
    await expect(prepareTaskDirectory(directory, { uid, gid: uid })).rejects.toThrow(expected);
  });

  it('and what is in it are given to whom the plugin runs as', async () => {
    // Only root can give files to somebody else.
    const [uid, gid] = process.getuid?.() === 0 ? [65534, 65534] : [process.getuid?.() ?? 0, process.getgid?.() ?? 0];
    const owner = { uid, gid };
    const theirs = join(parent, 'theirs');
    await prepareTaskDirectory(theirs, owner);
    const files = taskFilesOf(theirs, ID);
    await writeTaskFiles(files, '{}', owner);
    expect(lstatSync(theirs)).toMatchObject(owner);
    expect(lstatSync(files.task)).toMatchObject(owner);
    // They answer with a file of theirs.
    renameSync(files.task, files.response);
    expect(await readResponse(files, owner)).toEqual({ text: '{}' });
  });

  it('has a parent', async () => {
    const missing = join(parent, 'a', 'b');
    await expect(prepareTaskDirectory(missing, null)).rejects.toThrow(`cannot make ${missing}: no such file`);
  });
});

describe('the response file', () => {
  it('is read to its end, up to the limit', async () => {
    const files = taskFilesOf(directory, ID);
    writeFileSync(files.response, 'ä'.repeat(50));
    expect(await readResponse(files, null, 100)).toEqual({ text: 'ä'.repeat(50) });
    expect(await readResponse(files, null, 99)).toEqual({ error: `${files.response} is larger than 99 bytes` });
  });

  it('that is missing says so as the system does', async () => {
    const files = taskFilesOf(directory, ID);
    expect(await readResponse(files, null)).toEqual({ error: `open ${files.response}: no such file or directory` });
  });

  it('is neither a link nor a pipe nor a directory', async () => {
    const files = taskFilesOf(directory, ID);
    symlinkSync('/etc/passwd', files.response);
    expect(await readResponse(files, null)).toEqual({
      error: `open ${files.response}: too many symbolic links encountered`,
    });
    rmSync(files.response);
    execFileSync('mkfifo', [files.response]);
    expect(await readResponse(files, null)).toEqual({ error: `${files.response} is not a regular file` });
    rmSync(files.response);
    mkdirSync(files.response);
    expect(await readResponse(files, null)).toEqual({ error: `${files.response} is not a regular file` });
  });

  it('belongs to whom the plugin ran as: a second name of another file shows nothing', async () => {
    const files = taskFilesOf(directory, ID);
    const secret = join(parent, 'secret');
    writeFileSync(secret, 'secret');
    linkSync(secret, files.response);
    const uid = process.getuid?.() ?? 0;
    expect(await readResponse(files, { uid: uid + 1, gid: 0 })).toEqual({
      error: `${files.response} belongs to user ${uid}`,
    });
  });
});
