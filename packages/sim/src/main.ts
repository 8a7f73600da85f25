import { parseArgs } from 'node:util';
import { RARE_IN_TREES } from './fabric/rare.js';
import { simulateTree } from './fabric/run.js';
import { RARE_IN_JOBS } from './jobs/rare.js';
import { simulateJobs } from './jobs/run.js';
import { type Exploration, explore, replay } from './kernel/explore.js';
import { RARE } from './push/rare.js';
import { simulate } from './push/run.js';
import { RARE_IN_RULES } from './rules/rare.js';
import { simulateRules } from './rules/run.js';
import { RARE_IN_STORES } from './store/rare.js';
import { simulateStore } from './store/run.js';
import { RARE_IN_TASKS } from './tasks/rare.js';
import { simulateTasks } from './tasks/run.js';

/**
 * npm run sim                     500 runs from a random seed on
 * npm run sim -- --runs N         so many
 * npm run sim -- --hours H        as many as fit into the time
 * npm run sim -- --from S         from this seed on
 * npm run sim -- --seed S         one run again, step by step
 *
 * With --fabric: a tree of the event fabric instead of push jobs. With --store: the group commit over a bad database.
 * With --tasks: queues and tasks. With --jobs: jobs, their workers and their recovery. With --rules: rules that others agree to.
 */
const USAGE =
  'npm run sim -- [--fabric | --store | --tasks | --jobs | --rules] [--seed S | --runs N | --hours H] [--from S] [--minutes M virtual minutes of faults]';
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
const flag = { type: 'boolean', default: false } as const;
const { values } = parseArgs({
  options: {
    seed: text,
    from: text,
    runs: text,
    hours: text,
    minutes: text,
    fabric: flag,
    store: flag,
    tasks: flag,
    jobs: flag,
    rules: flag,
    help: flag,
  },
});
if (values.help) {
  print(USAGE);
  process.exit();
}
const SCENARIOS = {
  push: { simulate, rare: RARE, flags: '' },
  fabric: { simulate: simulateTree, rare: RARE_IN_TREES, flags: ' --fabric' },
  store: { simulate: simulateStore, rare: RARE_IN_STORES, flags: ' --store' },
  tasks: { simulate: simulateTasks, rare: RARE_IN_TASKS, flags: ' --tasks' },
  jobs: { simulate: simulateJobs, rare: RARE_IN_JOBS, flags: ' --jobs' },
  rules: { simulate: simulateRules, rare: RARE_IN_RULES, flags: ' --rules' },
};
const subject = (['rules', 'jobs', 'tasks', 'store', 'fabric'] as const).find((name) => values[name]);
const scenario = SCENARIOS[subject ?? 'push'];
const minutes = number(values.minutes);
const chaosMs = minutes === null ? null : minutes * 60_000;
const exploration: Exploration = {
  simulate: scenario.simulate,
  replay: `npm run sim --${scenario.flags} --seed`,
  options: chaosMs === null ? {} : { chaosMs },
  rare: scenario.rare,
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
