import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

/** A claim without a test is a wish: what the documents promise names tests, and those exist. */
const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** `file` “name”, with the name as it is in the source, placeholders filled in. */
const REFERENCE = /`((?:e2e|packages)\/[^`\s]+\.ts)` “([^”]+)”/g;
/** The first argument of a call whose second one is a function: the title of a test. */
const TITLE = /\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1,\s*(?:async\s*)?\(/g;
/** Titles shorter than this without their placeholders would fit anything. */
const LEAST_LITERAL = 10;

function titlesIn(file: string): RegExp[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return [...source.matchAll(TITLE)].flatMap(([, , title = '']) => {
    const literal = title.replace(/\\(.)/g, '$1').split(/\$\{[^}]*\}|%[sijd]/);
    if (literal.join('').length < LEAST_LITERAL) return [];
    return [new RegExp(`^${literal.map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.+')}$`)];
  });
}

/** Rows of tables whose last column holds the tests. */
function claims(text: string): string[] {
  const rows: string[] = [];
  let counting = false;
  for (const line of text.split('\n')) {
    if (!line.startsWith('|')) counting = false;
    else if (/\|\s*tests?\s*\|$/.test(line)) counting = true;
    else if (counting && !/^\|[-| ]+\|$/.test(line)) rows.push(line);
  }
  return rows;
}

describe.each(['docs/guarantees.md', 'docs/security.md'])('%s', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8');

  test('every test it names exists', () => {
    const references = [...text.matchAll(REFERENCE)];
    expect(references.length).toBeGreaterThan(20);
    const missing = references.filter(([, file = '', name = '']) => {
      return !existsSync(join(ROOT, file)) || !titlesIn(file).some((title) => title.test(name));
    });
    expect(missing.map(([, file, name]) => `${file} “${name}”`)).toEqual([]);
  });

  test('every claim names a test', () => {
    const rows = claims(text);
    expect(rows.length).toBeGreaterThan(10);
    expect(rows.filter((row) => row.match(REFERENCE) === null)).toEqual([]);
  });
});

test('every test of faults also checks that the server neither ends by itself nor answers 500', () => {
  const files = readdirSync(join(ROOT, 'e2e')).filter((name) => name.startsWith('faults-'));
  expect(files.length).toBeGreaterThan(5);
  const unguarded = files.filter((name) => !readFileSync(join(ROOT, 'e2e', name), 'utf8').includes('neverHarmed('));
  expect(unguarded).toEqual([]);
});
