/** Reasons told apart; further ones are summed up. */
const MOST_REASONS = 20;
/** Why a task that was named stays as it is. */
export const NOT_THERE = 'it does not exist';
const OTHERS = 'other reasons';

/** Tasks that stayed as they were, for one reason. */
export interface Refusals {
  readonly reason: string;
  readonly tasks: number;
  /** Id of one of them. */
  readonly first: string;
}

export interface Counts {
  readonly matched: number;
  readonly acted: number;
  readonly refused: readonly Refusals[];
}

export const NOTHING: Counts = { matched: 0, acted: 0, refused: [] };

/** What became of tasks. */
export class Tally {
  matched: number;
  #acted: number;
  readonly #refused: Map<string, Refusals>;

  constructor({ matched, acted, refused }: Counts = NOTHING) {
    this.matched = matched;
    this.#acted = acted;
    this.#refused = new Map(refused.map((one) => [one.reason, one]));
  }

  count(answers: readonly { readonly id: string; readonly refused: string | null }[]): this {
    for (const { id, refused } of answers) {
      this.matched += 1;
      if (refused === null) this.#acted += 1;
      else this.refuse(id, refused);
    }
    return this;
  }

  refuse(id: string, told: string): void {
    const reason = this.#refused.has(told) || this.#refused.size < MOST_REASONS ? told : OTHERS;
    const known = this.#refused.get(reason);
    this.#refused.set(
      reason,
      known === undefined ? { reason, tasks: 1, first: id } : { ...known, tasks: known.tasks + 1 },
    );
  }

  get counts(): Counts {
    return { matched: this.matched, acted: this.#acted, refused: [...this.#refused.values()] };
  }
}
