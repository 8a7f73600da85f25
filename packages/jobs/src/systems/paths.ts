import { createHash } from 'node:crypto';
import { posix } from 'node:path';
import { SYSTEM_LIMITS } from './limits.js';
import { type FileEntry, FileTrouble } from './types.js';

/**
 * The path as it is, when it is absolute and leads nowhere else than it says.
 * @throws FileTrouble INVALID_PATH
 */
export function checkedPath(path: string): string {
  if (!path.startsWith('/')) throw invalid(path, 'is not absolute');
  if (path.includes('\0')) throw invalid(path, 'holds a zero byte');
  if (Buffer.byteLength(path) > SYSTEM_LIMITS.path) throw invalid(path, `is longer than ${SYSTEM_LIMITS.path} bytes`);
  if (path.split('/').includes('..')) throw invalid(path, "holds '..'");
  return path;
}

/**
 * A path that somebody named, below a directory of ours: `/a`, `a` and `./a` are the same. It never leaves the directory.
 * @throws FileTrouble INVALID_PATH
 */
export function below(directory: string, path: string): string {
  const inside = path.replace(/^\/+/, '');
  return checkedPath(`/${inside}`) === '/' ? directory : posix.join(directory, inside);
}

/** Both without links in them. */
export function isWithin(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith('/') ? root : `${root}/`);
}

export function leadsOut(system: string, path: string): FileTrouble {
  const text = `${path} leads out of the root of system ${system}; links are followed only inside it`;
  return new FileTrouble(path, 'INVALID_PATH', text);
}

/** Where a file is written before it gets its name: always the same, so that a later attempt finds it. */
export function partOf(path: string): string {
  const { dir, base } = posix.parse(path);
  return posix.join(dir, `.muster-part-${createHash('sha256').update(base).digest('hex').slice(0, 24)}`);
}

/** The path itself, though it ends in a slash. @throws FileTrouble for the root of all, which is never meant. */
export function removable(path: string): string {
  const whole = posix.normalize(checkedPath(path)).replace(/\/+$/, '');
  if (whole === '') throw invalid(path, 'is the root of the system');
  return whole;
}

/** Names in their order, those of one page. @throws FileTrouble when there are too many to order. */
export function pageOf(
  path: string,
  names: string[],
  { limit, offset }: { readonly limit: number; readonly offset: number },
): string[] {
  tooMany(path, names.length);
  return names.sort((one, other) => (one < other ? -1 : 1)).slice(offset, offset + limit);
}

export function tooMany(path: string, names: number): void {
  if (names > SYSTEM_LIMITS.names) throw invalid(path, `holds more than ${SYSTEM_LIMITS.names} names`);
}

/** What `stat` and `lstat` say, here and there. */
interface Attributes {
  readonly mode: number;
  readonly size: number;
  isFile(): boolean;
  isDirectory(): boolean;
  isSymbolicLink(): boolean;
}

export function entryOf(path: string, name: string, attributes: Attributes, modified: number): FileEntry {
  const type = attributes.isFile()
    ? 'file'
    : attributes.isDirectory()
      ? 'dir'
      : attributes.isSymbolicLink()
        ? 'link'
        : 'other';
  return { path, name, type, length: attributes.size, modified, mode: attributes.mode & 0o777 };
}

export function notAFile(path: string): FileTrouble {
  return new FileTrouble(path, 'NOT_A_FILE', `${path} is not a file`);
}

export function notADirectory(path: string): FileTrouble {
  return new FileTrouble(path, 'NOT_A_DIRECTORY', `${path} is there, and is no directory`);
}

export function wrongSize(path: string, size: number, found: string): FileTrouble {
  return new FileTrouble(path, 'WRONG_SIZE', `${path} should have ${size} bytes, and ${found}`);
}

function invalid(path: string, problem: string): FileTrouble {
  const shown = path.length > 200 ? `${path.slice(0, 200)}…` : path;
  return new FileTrouble(path, 'INVALID_PATH', `the path ${JSON.stringify(shown)} ${problem}`);
}
