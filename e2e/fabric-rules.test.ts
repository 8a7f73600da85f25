import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

// That the tests named there exist is checked for the whole document, in guarantees.test.ts.
const DOCUMENT = fileURLToPath(new URL('../docs/guarantees.md', import.meta.url));
const numbered = (name: string, last: number) => Array.from({ length: last }, (_, n) => `${name}${n + 1}`);
const IDS = [
  ...numbered('B-', 10),
  ...numbered('R-', 11),
  ...numbered('T-', 5),
  ...numbered('F', 6),
  // Scenarios.
  ...numbered('', 20),
];

/** Titles of tests, by the first cell of their row. */
function rows(): Map<string, string[]> {
  const lines = readFileSync(DOCUMENT, 'utf8').split('\n');
  const cells = lines.flatMap((line) => {
    const [, id, tests] = /^\| ([BRT]-\d+|F\d|\d+) \|.*?\| (`.*) \|$/.exec(line) ?? [];
    return id === undefined || tests === undefined ? [] : [[id, tests] as const];
  });
  return new Map(cells.map(([id, tests]) => [id, [...tests.matchAll(/“([^”]+)”/g)].map(([, title = '']) => title)]));
}

describe('the rules of the event fabric, and its scenarios', () => {
  test('each has its row in the document, and no row has another name', () => {
    expect([...rows().keys()]).toEqual(IDS);
  });

  test.each(IDS)('%s is named by the titles of its tests', (id) => {
    const titles = rows().get(id) ?? [];
    const named = /^\d/.test(id) ? new RegExp(`^${id}: `) : new RegExp(`\\b${id}\\b`);
    expect(titles.length).toBeGreaterThan(0);
    expect(titles.filter((title) => !named.test(title))).toEqual([]);
  });
});
