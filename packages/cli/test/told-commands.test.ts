import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import { createProgram } from '../src/program.js';
import { testWorld } from './support/world.js';

const PACKAGES = join(import.meta.dirname, '../..');
/** Up to what is only known when it is told. */
const TOLD = /[`"'](muster [a-z][^`"'$\\]*)/g;
/** Words that are signed, or that keys are derived with. */
const NO_COMMAND = /^muster (?:audit seal|box|secret key id|webhooks )/;
/** What they do without a further word has the flags of its settings. */
const OWN_FLAGS = ['agent', 'reader', 'relay', 'server', 'worker'];

function told(): string[] {
  const files = readdirSync(PACKAGES, { recursive: true, encoding: 'utf8' });
  const sources = files.filter((file) => /^[^/]+\/src\/.*\.tsx?$/.test(file));
  return sources.flatMap((file) => {
    const text = readFileSync(join(PACKAGES, file), 'utf8');
    return [...text.matchAll(TOLD)].map(([, command = '']) => command).filter((one) => !NO_COMMAND.test(one));
  });
}

/** What of these words the command line would not take. */
function strange(program: Command, words: readonly string[]): string | undefined {
  let place = program;
  const rest = [...words];
  for (;;) {
    const child = place.commands.find((one) => one.name() === rest[0]);
    if (child === undefined) break;
    place = child;
    rest.shift();
  }
  const [first = ''] = rest;
  const isArgument = place.registeredArguments.length > 0 || first === '' || first.startsWith('-');
  if (place === program || (place.commands.length > 0 && !isArgument)) return first;
  if (OWN_FLAGS.includes(place.name())) return undefined;
  const end = rest.indexOf('--');
  // What stands after `--arg` is for the script.
  const flags = (end < 0 ? rest : rest.slice(0, end)).flatMap((word, at, all) =>
    all[at - 1] === '--arg' ? [] : (/^--[a-z][a-z-]+/.exec(word) ?? []),
  );
  const known = [...place.options, ...program.options].flatMap(({ long }) => long ?? []);
  return flags.find((flag) => flag !== '--help' && !known.includes(flag));
}

test('every command that errors, hints and the console tell people to type is there, with its flags', async () => {
  const shell = { world: testWorld(), typed: [], words: undefined, exitCode: 0 };
  const program = await createProgram(shell, { serverFlags: false });
  const all = told();
  expect(all.length).toBeGreaterThan(300);
  const wrong = all.filter((one) => strange(program, one.split(/\s+/).slice(1)) !== undefined);
  expect(wrong).toEqual([]);
});
