import {
  accessSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative, sep } from 'node:path';
import { getAsset, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * What is part of Muster itself and is not code that an `import` reaches: files that stand beside it, and programs of threads. In a
 * checkout they are files. In the single executable (`scripts/packages/single`) they are assets, under this address, where no file
 * can be. Programs of processes need no help: the single executable runs `/proc/self/exe/…` as Node.js runs a file. What the system
 * itself must read becomes a file without a name.
 */
export const INSIDE = 'file:///proc/self/exe/';
/** The asset that runs programs from other assets. */
export const STARTER = 'starter.cjs';

export function readOwn(file: URL): Buffer {
  const asset = assetOf(file);
  return asset === null ? readFileSync(file) : Buffer.from(getRawAsset(asset) as ArrayBuffer);
}

/** All files below a directory, by their paths from there. Null: there is no such directory. */
export function readOwnBelow(directory: URL): ReadonlyMap<string, Buffer> | null {
  const paths = pathsBelow(directory);
  return paths && new Map(paths.map((path) => [path, readOwn(new URL(encodeURI(path), directory))]));
}

/**
 * The path of a program that is no JavaScript, for this process to start. Null: it was not built, as where there was no compiler
 * (`scripts/native.mjs`). Throws when no directory takes programs.
 */
export function ownProgram(file: URL): string | null {
  if (assetOf(file) === null) return statSync(file).size === 0 ? null : fileURLToPath(file);
  let path = programs.get(file.href);
  if (path === undefined) {
    path = withoutName(readOwn(file), (found) => {
      accessSync(found, constants.X_OK);
      return found;
    });
    programs.set(file.href, path);
  }
  return path;
}

/** Programs that have become files, by their addresses. */
const programs = new Map<string, string>();

/**
 * What `use` makes of the path of a file that has this content: one without a name, which nobody else can change and which is gone with
 * this process. It is tried in one directory after the other, as not all may have programs. Throws when `use` does so for each.
 */
export function withoutName<T>(content: Uint8Array, use: (path: string) => T): T {
  const failures: string[] = [];
  for (const directory of new Set([tmpdir(), '/var/tmp', '/dev/shm'])) {
    let file: number | undefined;
    try {
      file = namelessFile(directory, content);
      return use(`/proc/self/fd/${file}`);
    } catch (error) {
      if (file !== undefined) closeSync(file);
      failures.push(`${directory}: ${(error as Error).message}`);
    }
  }
  throw new Error(`TMPDIR must be writable and not mounted noexec (${failures.join('; ')})`);
}

function namelessFile(directory: string, content: Uint8Array): number {
  const own = mkdtempSync(join(directory, 'muster-'));
  try {
    writeFileSync(join(own, 'part'), content, { mode: 0o700, flag: 'wx' });
    // The system starts no program that is open to be written to.
    return openSync(join(own, 'part'), 'r');
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}

export function startOwnThread(program: URL, options: WorkerOptions): Worker {
  const asset = assetOf(program);
  if (asset === null) return new Worker(program, options);
  return new Worker(getAsset(STARTER, 'utf8'), { ...options, eval: true, argv: [`/proc/self/exe/${asset}`] });
}

function pathsBelow(directory: URL): readonly string[] | null {
  const prefix = assetOf(directory);
  if (prefix !== null) {
    const names = JSON.parse(getAsset('names.json', 'utf8')) as readonly string[];
    const below = names.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
    return below.length === 0 ? null : below;
  }
  const root = fileURLToPath(directory);
  try {
    const entries = readdirSync(root, { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile())
      .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll(sep, '/'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

function assetOf({ href }: URL): string | null {
  return isSea() && href.startsWith(INSIDE) ? href.slice(INSIDE.length) : null;
}
