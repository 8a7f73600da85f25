import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Facts } from '@muster/wire';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { readOwnFacts, runFactsProgram } from '../src/own-facts.js';
import { scratch } from './support/agent.js';

/** Facts that a program of the node's owner writes. */

let place: Awaited<ReturnType<typeof scratch>>;
beforeEach(async () => {
  place = await scratch();
});
afterEach(() => place.dispose());

function run(script: string, timeoutMs = 20_000): Promise<Facts> {
  const program = join(place.dir, 'facts');
  writeFileSync(program, `#!/bin/sh\n${script}\n`);
  chmodSync(program, 0o755);
  return runFactsProgram({ program, timeoutMs });
}

test('are one JSON object on its standard output', async () => {
  const written = await run(`echo '{"rack": "b4", "slots": 2, "spare": false}'; echo noise >&2`);
  expect(written).toEqual({ rack: 'b4', slots: 2, spare: false });
});

test('are not taken of a program that fails, or is too slow, or writes too much, or is not there', async () => {
  await expect(run('exit 3')).rejects.toThrow('it ended with exit code 3');
  await expect(run('sleep 60', 50)).rejects.toThrow('it took longer than 0.05 s');
  await expect(run('yes')).rejects.toThrow('it wrote more than 32768 bytes');
  await expect(runFactsProgram({ program: join(place.dir, 'none'), timeoutMs: 1000 })).rejects.toThrow('ENOENT');
});

test('a program that fails is told of with the last line that it wrote to standard error', async () => {
  await expect(run('echo begins >&2; echo "no lldpctl here" >&2; exit 4')).rejects.toThrow(
    /^it ended with exit code 4: no lldpctl here$/,
  );
});

test.each([
  ['no', 'not JSON'],
  ['[1]', 'not a JSON object'],
  ['{"a b": 1}', "'a b' cannot name a fact"],
  ['{"a": {"b": 1}}', 'a must be text of at most 4096 bytes, a number, true or false'],
  [JSON.stringify(Object.fromEntries(Array.from({ length: 129 }, (_, i) => [`f${i}`, i]))), 'more than 128 facts'],
])('%s is refused: %s', (text, message) => {
  expect(() => readOwnFacts(text)).toThrow(message);
});
