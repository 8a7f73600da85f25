import { simulateTree, type TreeResult } from './run.js';

const SAY_EVERY_MS = 10_000;

export interface Exploration {
  readonly from: number;
  readonly runs: number;
  /** By the real clock. */
  readonly untilMs: number;
  /** Virtual time of faults in each run; null: as the seed says. */
  readonly chaosMs: number | null;
  readonly print: (line: string) => void;
}

/** One run again, step by step. Answers the exit code. */
export async function replayTree(
  seed: number,
  { chaosMs, print }: Pick<Exploration, 'chaosMs' | 'print'>,
): Promise<number> {
  const result = await simulateTree(seed, { print, ...(chaosMs !== null && { chaosMs }) });
  const { violation, steps, virtualMs, recoveredMs } = result;
  if (violation !== null) {
    print(`seed ${seed}: ${violation.message}`);
    return 1;
  }
  const times = `${seconds(virtualMs)} virtual, all well ${seconds(recoveredMs)} after the faults`;
  print(`seed ${seed}: ${steps} steps, ${times}`);
  return 0;
}

/** Seed after seed, until one breaks a rule. Answers the exit code. */
export async function exploreTrees({ from, runs, untilMs, chaosMs, print }: Exploration): Promise<number> {
  const totals = new TreeTotals();
  let said = Date.now();
  for (let seed = from; totals.runs < runs && Date.now() < untilMs; seed++) {
    const result = await simulateTree(seed, chaosMs === null ? {} : { chaosMs });
    totals.add(result);
    if (result.violation !== null) {
      for (const line of result.tail) print(line);
      print(`${result.violation.message}\nseed ${seed}; replay with: npm run sim -- --fabric --seed ${seed}`);
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

/** For the last line. */
class TreeTotals {
  runs = 0;
  #steps = 0;
  #virtualMs = 0;
  #events = 0;
  #deliveries = 0;
  #slowest = { recoveredMs: 0, seed: 0 };
  readonly #counts = new Map<string, number>();

  add(result: TreeResult): void {
    this.runs += 1;
    this.#steps += result.steps;
    this.#virtualMs += result.virtualMs;
    this.#events += result.events;
    this.#deliveries += result.deliveries;
    if (result.recoveredMs > this.#slowest.recoveredMs) this.#slowest = result;
    for (const [name, count] of [...result.faults, ...result.outcomes]) {
      this.#counts.set(name, (this.#counts.get(name) ?? 0) + count);
    }
  }

  toString(): string {
    const { recoveredMs, seed } = this.#slowest;
    const hours = (this.#virtualMs / 3_600_000).toFixed(1);
    const events = `${this.#events} events, ${this.#deliveries} deliveries`;
    const recovery = `slowest recovery ${seconds(recoveredMs)} (seed ${seed})`;
    return `${this.runs} runs, ${this.#steps} steps, ${hours} virtual hours, ${events}, ${recovery}`;
  }

  details(): string {
    return [...this.#counts].map(([name, count]) => `${name} ${count}`).join(', ');
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
