/** What happened, for people. Lines are made only when they are read: most runs end well. */
export class Trace {
  readonly #kept: (() => string)[] = [];
  readonly #limit: number;
  readonly #print: ((line: string) => void) | null;
  readonly #now: () => number;
  readonly #start: number;

  constructor(now: () => number, limit: number, print: ((line: string) => void) | null) {
    this.#now = now;
    this.#start = now();
    this.#limit = limit;
    this.#print = print;
  }

  say(line: () => string): void {
    const at = ((this.#now() - this.#start) / 1000).toFixed(3).padStart(9);
    if (this.#print !== null) this.#print(`${at}  ${line()}`);
    this.#kept.push(() => `${at}  ${line()}`);
    if (this.#kept.length > 2 * this.#limit) this.#kept.splice(0, this.#limit);
  }

  tail(): string[] {
    return this.#kept.slice(-this.#limit).map((line) => line());
  }
}
