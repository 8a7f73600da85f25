import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { getAsset, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';

/**
 * What is part of Muster itself and is not code that an `import` reaches: files that stand beside it, and programs of threads. In a
 * checkout they are files. In the single executable (`scripts/packages/single`) they are assets, under this address, where no file
 * can be. Programs of processes need no help: the single executable runs `/proc/self/exe/…` as Node.js runs a file.
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
