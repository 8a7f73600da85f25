import type { Lane } from '@muster/store';

/** Transactions of several processes on one database that knows only one at a time. */
export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve();

  lane(inner: Lane): Lane {
    return {
      write: (id, batch) => this.#next(() => inner.write(id, batch)),
      transact: (id, work) => this.#next(() => inner.transact(id, work)),
      outcome: (id) => inner.outcome(id),
      probe: (id) => this.#next(() => inner.probe(id)),
      close: () => inner.close(),
    };
  }

  /** What is neither of them. */
  alone(work: () => Promise<unknown>): Promise<unknown> {
    return this.#next(work);
  }

  #next<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
