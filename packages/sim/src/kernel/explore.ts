import { Coverage } from './coverage.js';
import type { Violation } from './violation.js';

const SAY_EVERY_MS = 10_000;

/** What every simulation tells of one run. */
export interface Run {
  readonly seed: number;
  readonly violation: Violation | null;
  readonly steps: number;
  /** Virtual milliseconds from the end of the faults until all was well. */
  readonly recoveredMs: number;
  readonly virtualMs: number;
  readonly faults: ReadonlyMap<string, number>;
  /** How things ended, and how often. */
  readonly outcomes: ReadonlyMap<string, number>;
  /** States, transitions and rare moments that were come to, and how often. */
  readonly reached: ReadonlyMap<string, number>;
  /** What was done, and how much of it. */
  readonly work: Readonly<Record<string, number>>;
  /** The last lines of the trace, if a rule was broken. */
  readonly tail: readonly string[];
}

export interface RunOptions {
  /** Virtual time of faults; as the seed says, unless given. */
  readonly chaosMs?: number;
  readonly print?: (line: string) => void;
}

export type Simulate = (seed: number, options: RunOptions) => Promise<Run>;

export interface Exploration {
  readonly simulate: Simulate;
  /** How one run is replayed: the command without the seed. */
  readonly replay: string;
  readonly options: Pick<RunOptions, 'chaosMs'>;
  /** What runs come to now and then, and must. */
  readonly rare: readonly string[];
  readonly print: (line: string) => void;
}

/** One run again, step by step. Answers the exit code. */
export async function replay(seed: number, { simulate, options, print }: Exploration): Promise<number> {
  const { violation, steps, virtualMs, recoveredMs } = await simulate(seed, { ...options, print });
  if (violation !== null) {
    print(`seed ${seed}: ${violation.message}`);
    return 1;
  }
  const times = `${seconds(virtualMs)} virtual, all well ${seconds(recoveredMs)} after the faults`;
  print(`seed ${seed}: ${steps} steps, ${times}`);
  return 0;
}

/** Seed after seed, until one breaks a rule. `untilMs` is by the real clock. Answers the exit code. */
export async function explore(
  seeds: { readonly from: number; readonly runs: number; readonly untilMs: number },
  { simulate, replay, options, rare, print }: Exploration,
): Promise<number> {
  const totals = new Totals();
  let said = Date.now();
  for (let seed = seeds.from; totals.runs < seeds.runs && Date.now() < seeds.untilMs; seed++) {
    const run = await simulate(seed, options);
    totals.add(run);
    if (run.violation !== null) {
      for (const line of run.tail) print(line);
      print(`${run.violation.message}\nseed ${seed}; replay with: ${replay} ${seed}`);
      return 1;
    }
    if (Date.now() - said > SAY_EVERY_MS) {
      said = Date.now();
      print(`${totals}`);
    }
  }
  print(`${totals}`);
  print(totals.details());
  for (const line of totals.coverage.table(rare)) print(line);
  return 0;
}

/** For the last lines. */
class Totals {
  runs = 0;
  readonly coverage = new Coverage();
  #steps = 0;
  #virtualMs = 0;
  #slowest = { recoveredMs: 0, seed: 0 };
  readonly #work = new Map<string, number>();
  readonly #counts = new Map<string, number>();

  add(run: Run): void {
    this.runs += 1;
    this.#steps += run.steps;
    this.#virtualMs += run.virtualMs;
    if (run.recoveredMs > this.#slowest.recoveredMs) this.#slowest = run;
    count(this.#work, Object.entries(run.work));
    count(this.#counts, run.faults);
    count(this.#counts, run.outcomes);
    this.coverage.add(run.reached);
  }

  toString(): string {
    const { recoveredMs, seed } = this.#slowest;
    const hours = (this.#virtualMs / 3_600_000).toFixed(1);
    const work = [...this.#work].map(([what, how]) => `${how} ${what}`).join(', ');
    const recovery = `slowest recovery ${seconds(recoveredMs)} (seed ${seed})`;
    return `${this.runs} runs, ${this.#steps} steps, ${hours} virtual hours, ${work}, ${recovery}`;
  }

  details(): string {
    return [...this.#counts].map(([name, count]) => `${name} ${count}`).join(', ');
  }
}

function count(into: Map<string, number>, more: Iterable<readonly [string, number]>): void {
  for (const [name, number] of more) into.set(name, (into.get(name) ?? 0) + number);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
