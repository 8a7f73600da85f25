import type { Batch, Lane, Outcome } from '@muster/store';

/** At which commit of a process it dies, from 0 on; and whether the database has that commit then. */
export interface Death {
  readonly commit: number;
  readonly stored: boolean;
}

const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/** A write lane of a process that is killed at a chosen commit: before the database has it, or before the process hears of it. */
export class DyingLane implements Lane {
  readonly #inner: Lane;
  readonly #death: () => Death | null;
  readonly #died: () => void;
  #commits = 0;
  #dead = false;

  /** @param death Null: not yet, and nothing is counted. @param died Called once, at that moment. */
  constructor(inner: Lane, death: () => Death | null, died: () => void) {
    this.#inner = inner;
    this.#death = death;
    this.#died = died;
  }

  write(id: number, batch: Batch): Promise<Outcome> {
    return this.#commit(() => this.#inner.write(id, batch));
  }

  transact(id: number, work: Parameters<Lane['transact']>[1]): Promise<Outcome> {
    return this.#commit(() => this.#inner.transact(id, work));
  }

  outcome(id: number): Promise<Outcome> {
    return this.#dead ? never() : this.#inner.outcome(id);
  }

  probe(id: number): Promise<Outcome> {
    return this.#dead ? never() : this.#inner.probe(id);
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  async #commit(store: () => Promise<Outcome>): Promise<Outcome> {
    if (this.#dead) return never();
    const death = this.#death();
    if (death === null || death.commit !== this.#commits++) return store();
    this.#dead = true;
    if (death.stored) await store();
    this.#died();
    return never();
  }
}
