import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

const DIST = join(import.meta.dirname, '../dist');
const KILOBYTE = 1000;

/** As browsers are given it that know gzip and nothing better. */
function sent(file: string): number {
  return readFileSync(join(DIST, `${file}.gz`)).length;
}

/** The script of the page with all that it imports before anything is shown. */
function scriptsOf(file: string, found = new Set<string>()): Set<string> {
  if (found.has(file)) return found;
  found.add(file);
  const text = readFileSync(join(DIST, file), 'utf8');
  for (const [, name] of text.matchAll(/(?:import|from)"\.\/([^"]+\.js)"/g)) scriptsOf(`assets/${name}`, found);
  return found;
}

describe('what browsers fetch', () => {
  const page = readFileSync(join(DIST, 'index.html'), 'utf8');
  const named = [...page.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, name = '']) => name);
  const first = new Set(named.flatMap((name) => (name.endsWith('.js') ? [...scriptsOf(name)] : [name])));
  const all = readdirSync(join(DIST, 'assets')).filter((name) => !/\.(?:br|gz)$/.test(name));

  it('is at most 90 KB before the first screen is there', () => {
    expect(first.size).toBeGreaterThan(1);
    expect(first.size).toBeLessThan(all.length);
    expect(Math.ceil([...first].reduce((sum, name) => sum + sent(name), 0) / KILOBYTE)).toBeLessThanOrEqual(90);
  });

  it('is at most 200 KB with all screens', () => {
    expect(Math.ceil(all.reduce((sum, name) => sum + sent(`assets/${name}`), 0) / KILOBYTE)).toBeLessThanOrEqual(200);
  });
});
