import { parseArgs } from 'node:util';
import { exploreTrees, replayTree } from '../fabric/explore.js';
import { type RunResult, simulate } from './run.js';

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
const SAY_EVERY_MS = 10_000;

function number(text: string | undefined): number | null {
  if (text === undefined) return null;
  const value = Number(text);
  if (!Number.isFinite(value) || value < 0) throw new Error(`${text} is not a number. ${USAGE}`);
  return value;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

async function replay(seed: number, chaosMs: number | null): Promise<number> {
  const result = await simulate(seed, { print, ...(chaosMs !== null && { chaosMs }) });
  const { violation, steps, virtualMs, recoveredMs } = result;
  if (violation !== null) {
    print(`seed ${seed}: ${violation.message}`);
    return 1;
  }
  print(
    `seed ${seed}: ${steps} steps, ${seconds(virtualMs)} virtual, all well ${seconds(recoveredMs)} after the faults`,
  );
  return 0;
}

/** Totals over runs, for the last line. */
class Totals {
  runs = 0;
  steps = 0;
  virtualMs = 0;
  commands = 0;
  slowest = { recoveredMs: 0, seed: 0 };
  readonly counts = new Map<string, number>();

  add(result: RunResult): void {
    this.runs += 1;
    this.steps += result.steps;
    this.virtualMs += result.virtualMs;
    this.commands += result.commands;
    if (result.recoveredMs > this.slowest.recoveredMs) this.slowest = result;
    for (const [name, count] of [...result.faults, ...result.statuses]) {
      this.counts.set(name, (this.counts.get(name) ?? 0) + count);
    }
  }

  toString(): string {
    const { runs, steps, virtualMs, commands, slowest } = this;
    const hours = (virtualMs / 3_600_000).toFixed(1);
    const recovery = `slowest recovery ${seconds(slowest.recoveredMs)} (seed ${slowest.seed})`;
    return `${runs} runs, ${steps} steps, ${hours} virtual hours, ${commands} commands, ${recovery}`;
  }

  details(): string {
    return [...this.counts].map(([name, count]) => `${name} ${count}`).join(', ');
  }
}

async function explore(from: number, runs: number, untilMs: number, chaosMs: number | null): Promise<number> {
  const totals = new Totals();
  let said = Date.now();
  for (let seed = from; totals.runs < runs && Date.now() < untilMs; seed++) {
    const result = await simulate(seed, chaosMs === null ? {} : { chaosMs });
    totals.add(result);
    if (result.violation !== null) {
      for (const line of result.tail) print(line);
      print(`${result.violation.message}\nseed ${seed}; replay with: npm run sim -- --seed ${seed}`);
      return 1;
    }
    if (Date.now() - said > SAY_EVERY_MS) {
      said = Date.now();
      print(`${totals}`);
    }
  }
  print(`${totals}`);
  print(totals.details());
  return 0;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

const text = { type: 'string' } as const;
const fabric = { type: 'boolean', default: false } as const;
const { values } = parseArgs({ options: { seed: text, from: text, runs: text, hours: text, minutes: text, fabric } });
const minutes = number(values.minutes);
const chaosMs = minutes === null ? null : minutes * 60_000;
const seed = number(values.seed);
if (seed !== null) {
  process.exitCode = values.fabric ? await replayTree(seed, { chaosMs, print }) : await replay(seed, chaosMs);
} else {
  const hours = number(values.hours);
  const from = number(values.from) ?? Math.floor(Math.random() * 2 ** 31);
  print(`seeds from ${from} on`);
  const runs = number(values.runs) ?? (hours === null ? RUNS : Number.POSITIVE_INFINITY);
  const untilMs = hours === null ? Number.POSITIVE_INFINITY : Date.now() + hours * 3_600_000;
  process.exitCode = values.fabric
    ? await exploreTrees({ from, runs, untilMs, chaosMs, print })
    : await explore(from, runs, untilMs, chaosMs);
}
