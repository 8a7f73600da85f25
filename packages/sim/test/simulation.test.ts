import { expect, test } from 'vitest';
import { simulate } from '../src/simulation/run.js';

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

test('the runs reach every way in which a job and a node can end', async () => {
  const seen = new Set<string>();
  for (let seed = 1; seed <= 80; seed++) {
    for (const outcome of (await simulate(seed)).outcomes.keys()) seen.add(outcome);
  }
  expect([...seen].sort()).toEqual([
    'aborted',
    'crashed',
    'failed',
    'job aborted',
    'job complete',
    'job quorum_failed',
    'job timed_out',
    'nacked',
    'succeeded',
    'timed_out',
    'unavailable',
    'was_ready',
  ]);
});

test('half an hour of faults and jobs leaves no more behind than a minute', async () => {
  const { violation } = await simulate(7, { chaosMs: 1_800_000, jobs: 100 });
  expect(violation?.message).toBeUndefined();
});
