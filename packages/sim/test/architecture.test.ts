import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** What the documentation and the faults of `npm run mutate` say of the sources, against them. */

const ROOT = join(import.meta.dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');

/** Text of all sources of a package. */
function sources(name: string): string {
  const src = join(ROOT, 'packages', name, 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => /\.tsx?$/.test(file));
  return files.map((file) => readFileSync(join(src, file), 'utf8')).join('\n');
}

function importsOf(name: string): string[] {
  const found = sources(name).matchAll(/(?:from |import |import\()'@muster\/([a-z]+)/g);
  const names = new Set([...found].map(([, imported = '']) => imported));
  names.delete(name);
  return [...names].sort();
}

const packages = readdirSync(join(ROOT, 'packages')).sort();
const sections = new Map(
  [...PAGE.matchAll(/^### (\w+)\n([^#]*?)^- imports: ([^\n]*)$/gm)].map(([, name = '', text = '', imports = '']) => [
    name,
    { text: text.trim(), imports: imports === 'nothing' ? [] : imports.split(', ').sort() },
  ]),
);

describe('docs/architecture.md', () => {
  it('describes every package, and no other', () => {
    expect([...sections.keys()].sort()).toEqual(packages);
  });

  it.each(packages)('names what %s imports, in three lines', (name) => {
    const section = sections.get(name);
    expect(section?.imports).toEqual(importsOf(name));
    expect(section?.text.split('\n').length).toBeLessThanOrEqual(3);
  });

  const steps = [...PAGE.matchAll(/^\| \d+ \| `(\w+)` `(\w+)` \|/gm)].map(([, name = '', symbol = '']) => ({
    name,
    symbol,
  }));

  it('tells four ways', () => {
    expect(steps.length).toBeGreaterThan(30);
  });

  it.each(steps)('a way leads through $symbol, which stands in $name', ({ name, symbol }) => {
    expect(sources(name)).toMatch(new RegExp(`\\b(?:class|function|interface) ${symbol}\\b`));
  });
});

describe('docs/dependencies.md', () => {
  const [, runtime = ''] = readFileSync(join(ROOT, 'docs/dependencies.md'), 'utf8').split(/^## .*$/m);
  const rows = [...runtime.matchAll(/^\| (`[^|]+`) \| ([^|]+) \|/gm)].map(([, libraries = '', users = '']) => ({
    libraries: [...libraries.matchAll(/`([^`]+)`/g)].map(([, library = '']) => library),
    users: users
      .replaceAll(/ \(.*?\)/g, '')
      .split(', ')
      .sort(),
  }));
  const declared = new Map(
    packages.map((name) => {
      const { dependencies = {} } = JSON.parse(readFileSync(join(ROOT, 'packages', name, 'package.json'), 'utf8'));
      return [name, Object.keys(dependencies).filter((library) => !library.startsWith('@muster/'))];
    }),
  );

  it('has every library that a package depends on, and no other', () => {
    const known = rows.flatMap(({ libraries }) => libraries).sort();
    expect(known).toEqual([...new Set([...declared.values()].flat())].sort());
  });

  it.each(rows)('says who uses $libraries', ({ libraries, users }) => {
    expect(users).toEqual(
      packages.filter((name) => libraries.some((library) => declared.get(name)?.includes(library))),
    );
  });
});

const pages = ['README.md', 'CONTRIBUTING.md', 'SECURITY.md', 'CHANGELOG.md'].concat(
  readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' }).map((file) => join('docs', file)),
);

it.each(pages.filter((page) => page.endsWith('.md')))('%s names only files of packages that there are', (page) => {
  const named = readFileSync(join(ROOT, page), 'utf8').matchAll(/`(packages\/[\w./-]+)/g);
  const missing = [...named].map(([, file = '']) => file).filter((file) => !existsSync(join(ROOT, file)));
  expect(missing).toEqual([]);
});

interface Mutation {
  readonly name: string;
  readonly file: string;
  readonly from: string;
}

const mutations: { readonly MUTATIONS: readonly Mutation[] } = await import(join(ROOT, 'scripts/mutate/mutations.mjs'));

it.each(mutations.MUTATIONS)('the fault “$name” has its place in the code', ({ file, from }) => {
  expect(readFileSync(join(ROOT, file), 'utf8').split(from)).toHaveLength(2);
});
