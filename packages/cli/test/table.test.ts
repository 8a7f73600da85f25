import { expect, test } from 'vitest';
import { Output } from '../src/output.js';
import { printable, shortened } from '../src/printable.js';
import { tableLines } from '../src/table.js';
import { testWorld } from './support/world.js';

test('columns are as wide as their widest cell, and lines end without blanks', () => {
  const lines = tableLines(
    ['Node name', 'Status'],
    [
      ['foo', 'failed'],
      ['a-long-node-name', ''],
    ],
  );
  expect(lines).toEqual(['Node name         Status', 'foo               failed', 'a-long-node-name  -']);
});

test('the last column is cut to the width, but for its first characters', () => {
  const row = ['web1', 'a'.repeat(30)];
  expect(tableLines(['Node', 'Reason'], [row], undefined, 26)[1]).toBe(`web1  ${'a'.repeat(19)}…`);
  expect(tableLines(['Node', 'Reason'], [row], undefined, 36)[1]).toBe(`web1  ${'a'.repeat(30)}`);
  expect(tableLines(['Node', 'Reason'], [row], undefined, 5)[1]).toBe(`web1  ${'a'.repeat(9)}…`);
});

test('a text is never cut within a character', () => {
  expect(shortened('ab😀', 4)).toBe('ab😀');
  expect(shortened('ab😀d', 4)).toBe('ab…');
});

test('control characters of a node cannot reach the terminal', () => {
  expect(printable('a\u001b[31mb\nc\u0007')).toBe('a\\x1b[31mb\\nc\\x07');
  // Trojan Source: overrides, embeddings and isolates make text read otherwise than it is.
  expect(printable('a\u202eb\u2066c\u2069')).toBe('a\\u202eb\\u2066c\\u2069');
  expect(tableLines(['Reason'], [['\u001b]0;title\u0007']])[1]).toBe('\\x1b]0;title\\x07');
});

test('characters that are not seen, or that turn the order of a line, cannot reach it either', () => {
  const bidirectional = ['\u202e', '\u2066', '\u2067', '\u2068', '\u2069', '\u061c', '\u200e', '\u200f'];
  for (const character of [...bidirectional, '\u200b', '\u00ad', '\ufeff', '\u2028', '\ud800']) {
    const shown = printable(`a${character}b`);
    expect(shown, character.codePointAt(0)?.toString(16)).toMatch(/^a\\[xu][0-9a-f]+b$/);
  }
  expect(printable('\u{e0041}')).toBe('\\u{e0041}');
  expect(printable('é 漢 😀')).toBe('é 漢 😀');
});

test('colours never change the width of a column', () => {
  const world = testWorld({ terminal: true });
  new Output(world, { json: false }).table(
    ['Status', 'Node'],
    [
      ['failed', 'a'],
      ['up', 'b'],
    ],
    0,
  );
  expect(world.out()).toContain('\u001b[31mfailed\u001b[0m  a\n');
  expect(world.out()).toContain('\u001b[32mup\u001b[0m      b\n');
});

test.each([
  ['NO_COLOR is set', { terminal: true, env: { NO_COLOR: '1' } }],
  ['the terminal is dumb', { terminal: true, env: { TERM: 'dumb' } }],
  ['there is no terminal', { terminal: false }],
])('there are no colours when %s', (_, options) => {
  const world = testWorld(options);
  new Output(world, { json: false }).table(['Status'], [['failed']], 0);
  expect(world.out()).toBe('Status\nfailed\n');
});

test('with --json only documents and records are written', async () => {
  const world = testWorld();
  const out = new Output(world, { json: true });
  out.line('text');
  out.table(['A'], [['b']]);
  out.document({ id: 1 });
  out.record({ id: 2 });
  expect(world.out()).toBe('{\n  "id": 1\n}\n{"id":2}\n');
});
