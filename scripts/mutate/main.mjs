#!/usr/bin/env node
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import ts from 'typescript';
import { MUTATIONS } from './mutations.mjs';

/**
 * npm run mutate                      each fault of `mutations.mjs`, in a copy of what is built, before 100 seeds
 * npm run mutate -- --seeds N         before so many
 * npm run mutate -- --only WORDS      those whose names have them
 * npm run mutate -- --by tasks        those that this simulation ought to notice
 *
 * A fault counts as caught when a simulation breaks a rule. Exit code 1 when fewer than 12 of 17 are.
 */
const LEAST = { caught: 12, of: 17 };
const SEEDS = '100';
/** A fault may make a simulation stand still: that is noticed as well. */
const LONGEST_MS = 600_000;

const root = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: { seeds: { type: 'string', default: SEEDS }, only: { type: 'string', default: '' }, by: { type: 'string' } },
});

/** What is built, and what it needs: nothing in the working tree is touched. */
function copyBuilt() {
  const copy = mkdtempSync(join(tmpdir(), 'muster-mutate-'));
  mkdirSync(join(copy, 'node_modules/@muster'), { recursive: true });
  for (const name of readdirSync(join(root, 'node_modules'))) {
    if (name !== '@muster' && !name.startsWith('.')) {
      symlinkSync(join(root, 'node_modules', name), join(copy, 'node_modules', name));
    }
  }
  for (const name of readdirSync(join(root, 'packages'))) {
    const [from, to] = [join(root, 'packages', name), join(copy, 'packages', name)];
    for (const part of ['package.json', 'dist']) cpSync(join(from, part), join(to, part), { recursive: true });
    const own = join(from, 'node_modules');
    if (existsSync(own)) symlinkSync(own, join(to, 'node_modules'));
    symlinkSync(to, join(copy, 'node_modules/@muster', name));
  }
  return copy;
}

/** The source with the fault in it, as JavaScript. Throws when the fault has no place any more. */
function mutated({ name, file, from, to }) {
  const source = readFileSync(join(root, file), 'utf8');
  const places = source.split(from).length - 1;
  if (places !== 1) throw new Error(`${file} has ${places} places for: ${name}`);
  const { outputText } = ts.transpileModule(
    source.replace(from, () => to),
    {
      compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022, verbatimModuleSyntax: true },
    },
  );
  return outputText;
}

/** Answers what the simulation has found, or null. */
function simulate(copy, by) {
  const args = ['packages/sim/dist/main.js', '--from', '1', '--runs', values.seeds];
  if (by !== 'push') args.push(`--${by}`);
  return new Promise((resolve) => {
    const child = spawn(process.execPath, args, { cwd: copy, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    const hear = (chunk) => {
      said = (said + chunk).slice(-4000);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    const limit = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
    child.on('close', (code) => {
      clearTimeout(limit);
      if (code === 0) return resolve(null);
      const seed = /seed (\d+); replay/.exec(said)?.[1];
      const rule = said.trimEnd().split('\n').at(-2) ?? '';
      resolve(seed === undefined ? `the simulation ended with ${code ?? 'no end in sight'}` : `seed ${seed}: ${rule}`);
    });
  });
}

// All of them first: one without a place is told before hours have passed.
const wanted = MUTATIONS.filter(({ name, by }) => name.includes(values.only) && (values.by ?? by) === by).map(
  (mutation) => ({
    ...mutation,
    script: mutated(mutation),
  }),
);
const copy = copyBuilt();
let caught = 0;
try {
  for (const by of new Set(wanted.map((mutation) => mutation.by))) {
    const found = await simulate(copy, by);
    if (found !== null) throw new Error(`without any fault: ${found}`);
  }
  for (const mutation of wanted) {
    const target = join(copy, mutation.file.replace('/src/', '/dist/').replace(/\.ts$/, '.js'));
    const before = readFileSync(target);
    writeFileSync(target, mutation.script);
    const found = await simulate(copy, mutation.by);
    writeFileSync(target, before);
    if (found !== null) caught += 1;
    process.stdout.write(
      `${found === null ? 'MISSED' : 'caught'}  ${mutation.name}\n        ${found ?? relative(root, join(root, mutation.file))}\n`,
    );
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
process.stdout.write(`${caught} of ${wanted.length} caught before ${values.seeds} seeds\n`);
if (caught * LEAST.of < wanted.length * LEAST.caught) process.exitCode = 1;
