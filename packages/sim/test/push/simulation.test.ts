import { expect, test } from 'vitest';
import { simulate } from '../../src/push/run.js';

/** Ids that the shipped code makes from real randomness; nothing depends on them. */
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

async function traceOf(seed: number): Promise<string[]> {
  const lines: string[] = [];
  await simulate(seed, { print: (line) => lines.push(line.replace(UUID, 'UUID')) });
  return lines;
}

test('a seed stands for one run: replayed, every line of its trace is the same', async () => {
  for (const seed of [3, 28, 71, 1157]) expect(await traceOf(seed)).toEqual(await traceOf(seed));
});

test('half an hour of faults and jobs leaves no more behind than a minute', async () => {
  const { violation } = await simulate(7, { chaosMs: 1_800_000, jobs: 100 });
  expect(violation?.message).toBeUndefined();
});
