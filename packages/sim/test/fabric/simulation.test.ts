import { expect, test } from 'vitest';
import { simulateTree } from '../../src/fabric/run.js';

async function traceOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulateTree(seed, { print: (line) => lines.push(line) });
  return lines;
}

test('a seed stands for one run of a tree: replayed, every line of its trace is the same', async () => {
  for (const seed of [3, 17, 41]) expect(await traceOf(seed)).toEqual(await traceOf(seed));
});

test('five minutes of faults leave no more behind in a tree than a few seconds', async () => {
  const { violation } = await simulateTree(5, { chaosMs: 300_000 });
  expect(violation?.message).toBeUndefined();
});
