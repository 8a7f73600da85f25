import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Plugin } from 'vite';

const MODULE = /^(.*[/]packages[/][^/]+)[/]src[/](.+)\.js$/;

/**
 * Where a test imports a module of a package, it gets the one that is built, if nothing in that package was changed since: Node.js loads
 * that by itself, and once for all test files of a worker, whereas the source has to be made into a module of vitest first.
 */
export function built(): Plugin {
  const packages = new Map<string, boolean>();
  return {
    name: 'muster:built',
    enforce: 'pre',
    resolveId(source, importer) {
      if (importer === undefined || !source.startsWith('.')) return null;
      const [, folder, name] = MODULE.exec(resolve(dirname(importer), source)) ?? [];
      if (folder === undefined) return null;
      const current = packages.get(folder) ?? isCurrent(folder);
      packages.set(folder, current);
      const module = join(folder, 'dist', `${name}.js`);
      return current && existsSync(module) ? module : null;
    },
  };
}

/** The compiler writes its notes at the end of each run, also of one that had nothing to do. */
function isCurrent(folder: string): boolean {
  const notes = statSync(join(folder, 'dist/.tsbuildinfo'), { throwIfNoEntry: false });
  if (notes === undefined) return false;
  const source = join(folder, 'src');
  const changed = readdirSync(source, { recursive: true, encoding: 'utf8' }).map((name) =>
    statSync(join(source, name)),
  );
  return changed.every(({ mtimeMs }) => mtimeMs <= notes.mtimeMs);
}
