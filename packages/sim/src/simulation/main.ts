import { parseArgs } from 'node:util';
import { simulateTree } from '../fabric/run.js';
import { type Exploration, explore, replay } from './explore.js';
import { simulate } from './run.js';

/**
 * npm run sim                     500 runs from a random seed on
 * npm run sim -- --runs N         so many
 * npm run sim -- --hours H        as many as fit into the time
 * npm run sim -- --from S         from this seed on
 * npm run sim -- --seed S         one run again, step by step
 *
 * With --fabric: a tree of the event fabric instead of push jobs.
 */
const USAGE =
  'npm run sim -- [--fabric] [--seed S | --runs N | --hours H] [--from S] [--minutes M virtual minutes of faults]';
const RUNS = 500;

function number(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${text} is not a number. ${USAGE}`);
  return value;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

const text = { type: 'string' } as const;
const fabric = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { seed: text, from: text, runs: text, hours: text, minutes: text, fabric } });
const minutes = number(values.minutes);
const chaosMs = minutes === null ? null : minutes * 60_000;
const exploration: Exploration = {
  simulate: values.fabric ? simulateTree : simulate,
  replay: `npm run sim --${values.fabric ? ' --fabric' : ''} --seed`,
  options: chaosMs === null ? {} : { chaosMs },
  print,
};
const seed = number(values.seed);
if (seed !== null) process.exitCode = await replay(seed, exploration);
else {
  const hours = number(values.hours);
  const from = number(values.from) ?? Math.floor(Math.random() * 2 ** 31);
  print(`seeds from ${from} on`);
  const runs = number(values.runs) ?? (hours === null ? RUNS : Number.POSITIVE_INFINITY);
  const untilMs = hours === null ? Number.POSITIVE_INFINITY : Date.now() + hours * 3_600_000;
  process.exitCode = await explore({ from, runs, untilMs }, exploration);
}
