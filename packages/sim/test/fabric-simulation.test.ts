import { expect, test } from 'vitest';
import { TREE_FAULTS } from '../src/fabric/plan.js';
import { simulateTree } from '../src/fabric/run.js';

async function traceOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulateTree(seed, { print: (line) => lines.push(line) });
  return lines;
}

test('a seed stands for one run of a tree: replayed, every line of its trace is the same', async () => {
  for (const seed of [3, 17, 41]) expect(await traceOf(seed)).toEqual(await traceOf(seed));
});

test('the runs of trees make every fault, and events that are confirmed, lost, and neither', async () => {
  const faults = new Set<string>();
  const outcomes = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const result = await simulateTree(seed);
    for (const fault of result.faults.keys()) faults.add(fault);
    for (const outcome of result.outcomes.keys()) outcomes.add(outcome);
  }
  expect([...faults].sort()).toEqual([...TREE_FAULTS].sort());
  expect([...outcomes].sort()).toEqual([
    'blue',
    'confirmed',
    'failed',
    'failed, not logged',
    'red',
    'sent',
    'sent, not logged',
  ]);
});

test('five minutes of faults leave no more behind in a tree than a few seconds', async () => {
  const { violation } = await simulateTree(5, { chaosMs: 300_000 });
  expect(violation?.message).toBeUndefined();
});
