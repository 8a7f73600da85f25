import { expect, it } from 'vitest';
import { LineTooLong, linesOf } from '../src/request/lines.js';

async function read(pieces: readonly string[], most = 100): Promise<string[]> {
  const all = (async function* () {
    for (const piece of pieces) yield Buffer.from(piece);
  })();
  const lines: string[] = [];
  for await (const line of linesOf(all, most)) lines.push(line.toString());
  return lines;
}

it.each<[string[], string[]]>([
  [[], []],
  [['a\nb\n'], ['a', 'b']],
  [['a\nb'], ['a', 'b']],
  [
    ['a', 'b\n', '\nc', '', 'd', '\n'],
    ['ab', '', 'cd'],
  ],
  [['\n'], ['']],
])('pieces %j are lines %j', async (pieces, lines) => {
  expect(await read(pieces)).toEqual(lines);
});

it('a line that is too long ends it, also one that never ends', async () => {
  expect(await read(['12345\n'], 5)).toEqual(['12345']);
  await expect(read(['1\n123', '456\n'], 5)).rejects.toThrow(LineTooLong);
  await expect(read(['123', '456'], 5)).rejects.toThrow(LineTooLong);
});
