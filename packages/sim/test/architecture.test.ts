import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

/** docs/architecture.md against the sources. */

const ROOT = join(import.meta.dirname, '../../..');
const PAGE = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8');

/** Text of all sources of a package. */
function sources(name: string): string {
  const src = join(ROOT, 'packages', name, 'src');
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
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

  it('tells three ways', () => {
    expect(steps.length).toBeGreaterThan(15);
  });

  it.each(steps)('a way leads through $symbol, which stands in $name', ({ name, symbol }) => {
    expect(sources(name)).toMatch(new RegExp(`\\b(?:class|function|interface) ${symbol}\\b`));
  });
});
