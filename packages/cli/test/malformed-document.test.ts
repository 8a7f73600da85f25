import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { run } from '../src/run.js';
import { testWorld } from './support/world.js';

test.each([
  [
    'runbook create a -f',
    'a.yaml',
    'Runbook  restart-web: x: y\n',
    /a\.yaml is not YAML: Nested .* at line 1, column 23\n/,
  ],
  ['job submit -f', 'a.json', '{\n', /a\.json is not JSON: [^\n]+\n/],
])('%s says in one line what is wrong in a file, and what to do', async (argv, file, text, said) => {
  const cwd = mkdtempSync(join(tmpdir(), 'muster-malformed-'));
  writeFileSync(join(cwd, file), text);
  const env = { MUSTER_URL: 'http://127.0.0.1:1', MUSTER_ORG: 'o', MUSTER_TOKEN: 'T' };
  const world = testWorld({ cwd, env });
  expect(await run([...argv.split(' '), file], world)).toBe(2);
  expect(world.err()).toMatch(said);
  expect(world.err()).not.toContain('\\n');
  expect(world.err()).toContain('Correct it there, and run the command again.');
});
