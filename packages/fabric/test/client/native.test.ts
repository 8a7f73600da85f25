import { readFileSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, test } from 'vitest';

const PACKAGE = new URL('../../package.json', import.meta.url);
const LOCK = new URL('../../../../package-lock.json', import.meta.url);
const NATIVE = ['zeromq', 'better-sqlite3', 'bindings', 'node-gyp-build', 'prebuild-install'];

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly hasInstallScript?: boolean;
  readonly link?: boolean;
  readonly resolved?: string;
}

/** Files that are loaded with an entry, directly or not, and names of packages that are asked for and not installed. */
interface Graph {
  readonly files: Set<string>;
  readonly absent: Set<string>;
}

function walk(file: string, graph: Graph): Graph {
  if (graph.files.has(file)) return graph;
  graph.files.add(file);
  if (!/\.[cm]?js$/.test(file)) return graph;
  const { resolve } = createRequire(file);
  const text = readFileSync(file, 'utf8');
  for (const [, name = ''] of text.matchAll(/(?:\bfrom|\bimport|\bimport\(|\brequire\()\s*'([^'\n]+)'/g)) {
    if (isBuiltin(name)) continue;
    try {
      walk(resolve(name), graph);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
      graph.absent.add(name);
    }
  }
  return graph;
}

describe('a program that only publishes and follows events', () => {
  const { exports } = JSON.parse(readFileSync(PACKAGE, 'utf8'));

  it.each([
    ['node', 8],
    ['default', 0],
  ])('loads no native module (%s)', (variant, ofOthers) => {
    const { files, absent } = walk(fileURLToPath(new URL(exports['./client'][variant], PACKAGE)), {
      files: new Set(),
      absent: new Set(),
    });
    expect([...files].filter((file) => file.endsWith('.node'))).toEqual([]);
    expect([...files].filter((file) => NATIVE.some((name) => file.includes(`/node_modules/${name}/`)))).toEqual([]);
    // Those that `ws` would take if somebody had installed them.
    expect([...absent].filter((name) => name !== 'bufferutil' && name !== 'utf-8-validate')).toEqual([]);
    // Else nothing was looked at.
    expect(files.size).toBeGreaterThan(25);
    expect([...files].filter((file) => file.includes('/node_modules/')).length).toBeGreaterThanOrEqual(ofOthers);
  });

  test('installs nothing that is compiled or runs a script', () => {
    const { packages } = JSON.parse(readFileSync(LOCK, 'utf8')) as { packages: Record<string, Locked> };
    const installed = new Set<string>();
    const install = (path: string) => {
      if (installed.has(path)) return;
      installed.add(path);
      const { link, resolved, dependencies, optionalDependencies } = packages[path] ?? {};
      if (link === true) return install(resolved ?? '');
      for (const name of Object.keys({ ...dependencies, ...optionalDependencies })) {
        const own = `${path}/node_modules/${name}`;
        install(own in packages ? own : `node_modules/${name}`);
      }
    };
    install('packages/fabric');
    expect([...installed].filter((path) => packages[path]?.hasInstallScript === true)).toEqual([]);
    expect([...installed].filter((path) => NATIVE.some((name) => path.endsWith(`/${name}`)))).toEqual([]);
    expect([...installed]).toEqual(expect.arrayContaining(['packages/base', 'packages/selector', 'node_modules/ws']));
  });
});
