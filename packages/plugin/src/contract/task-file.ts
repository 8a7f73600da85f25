import { closeSync, constants, fchmodSync, fchownSync, openSync, writeFileSync } from 'node:fs';
import { chown, lstat, mkdir, open, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { RESPONSE_BYTES } from './limits.js';
import { causeOf, codeOf } from './system-error.js';

/** Whom a plugin runs as; its files are theirs. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** What a task is handed to its plugin in, and where the plugin answers (sheet §3.4, "files"). */
export interface TaskFiles {
  readonly task: string;
  readonly response: string;
}

/** The text of a response file, or why it could not be read. */
export type ResponseRead = { readonly text: string } | { readonly error: string };

/** The files of a task cannot be made safely; the message says why and what to do. */
export class TaskFilesError extends Error {
  override readonly name = 'TaskFilesError';
}

const ID = /^[\w-]{1,64}$/;
const OWNER_ONLY = 0o600;
const { O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_WRONLY } = constants;

/** Throws TaskFilesError when `id` is none that can be part of a file's name. */
export function taskFilesOf(directory: string, id: string): TaskFiles {
  if (!ID.test(id)) throw new TaskFilesError(`'${id}' is no id of a task`);
  return { task: join(directory, `${id}.json`), response: join(directory, `${id}-response.json`) };
}

/**
 * Makes the directory of an attempt unless it is there, and checks it: a real directory of whom the plugin runs as, in
 * which nobody else can put files. Its parent must belong to the caller, or it could be exchanged after this.
 */
export async function prepareTaskDirectory(directory: string, owner: Owner | null): Promise<void> {
  try {
    await mkdir(directory, { mode: 0o700 });
    if (owner !== null) await chown(directory, owner.uid, owner.gid);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw new TaskFilesError(`cannot make ${directory}: ${causeOf(error)}`);
  }
  await checkTaskDirectory(directory, owner);
}

export async function checkTaskDirectory(directory: string, owner: Owner | null): Promise<void> {
  const refuse = (reason: string) => new TaskFilesError(`${directory} ${reason}; choose another directory, or mend it`);
  const info = await lstat(directory).catch((error: unknown) => {
    throw refuse(`cannot be used: ${causeOf(error)}`);
  });
  if (!info.isDirectory()) throw refuse('is not a directory, or a link to one');
  const expected = owner?.uid ?? process.getuid?.();
  if (expected !== undefined && info.uid !== expected) throw refuse(`belongs to user ${info.uid}, not to ${expected}`);
  if ((info.mode & 0o022) !== 0) throw refuse('can be written to by others than its owner');
}

/** Deletes what is left of an earlier run, and writes the task file: mode 0600, of whom the plugin runs as. */
export async function writeTaskFiles(files: TaskFiles, text: string, owner: Owner | null): Promise<void> {
  const left = await removeTaskFiles(files);
  if (left.length > 0) throw new TaskFilesError(left.join('; '));
  writeNewFile(files.task, text, owner);
}

/**
 * Writes a file that is not there yet, and follows no link to another place: whoever owns the directory may have put one
 * there. It goes into memory only, so it is done at once, which five turns through the thread pool would not be.
 */
export function writeNewFile(path: string, text: string, owner: Owner | null): void {
  try {
    const descriptor = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, OWNER_ONLY);
    try {
      // The mode that was asked for is less what the umask takes.
      fchmodSync(descriptor, OWNER_ONLY);
      writeFileSync(descriptor, text);
      if (owner !== null) fchownSync(descriptor, owner.uid, owner.gid);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw new TaskFilesError(`cannot write ${path}: ${causeOf(error)}`);
  }
}

/** Before and after a run. What could not be deleted, in sentences; files that are not there are no trouble. */
export async function removeTaskFiles(files: TaskFiles): Promise<string[]> {
  const left: string[] = [];
  for (const path of [files.task, files.response]) {
    try {
      await unlink(path);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') left.push(`cannot delete ${path}: ${causeOf(error)}`);
    }
  }
  return left;
}

/**
 * What the plugin answered. The file must be an ordinary one of whom the plugin runs as: a link, a pipe or somebody
 * else's file would show what the plugin itself may not read, or never end.
 */
export async function readResponse(
  { response }: TaskFiles,
  owner: Owner | null,
  limit = RESPONSE_BYTES,
): Promise<ResponseRead> {
  try {
    const handle = await open(response, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      const info = await handle.stat();
      if (!info.isFile()) return { error: `${response} is not a regular file` };
      if (owner !== null && info.uid !== owner.uid) return { error: `${response} belongs to user ${info.uid}` };
      const bytes = await readUpTo(handle, info.size, limit);
      return bytes === null ? { error: `${response} is larger than ${limit} bytes` } : { text: bytes.toString('utf8') };
    } finally {
      await handle.close();
    }
  } catch (error) {
    return { error: `open ${response}: ${causeOf(error)}` };
  }
}

/** Null when there is more than `limit`. A process that was left behind may still be writing: the size is only a hint. */
async function readUpTo(handle: FileReader, size: number, limit: number): Promise<Buffer | null> {
  if (size > limit) return null;
  let bytes = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (;;) {
    const { bytesRead } = await handle.read(bytes, length, bytes.length - length, length);
    length += bytesRead;
    if (length > limit) return null;
    if (bytesRead === 0) return bytes.subarray(0, length);
    if (length === bytes.length) bytes = Buffer.concat([bytes], Math.min(bytes.length * 2, limit + 1));
  }
}

interface FileReader {
  read(buffer: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}
