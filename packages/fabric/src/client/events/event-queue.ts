import { FABRIC_LIMITS } from '../../limits.js';

export type Next<T> = Promise<IteratorResult<T, undefined>>;

interface Waiter<T> {
  readonly resolve: (result: IteratorResult<T, undefined>) => void;
  readonly reject: (error: Error) => void;
}

const DONE: IteratorResult<never, undefined> = { done: true, value: undefined };

/** Events between the connection and the program that reads them. */
export class EventQueue<T> {
  readonly #most: number;
  readonly #changed: () => void;
  #items: { readonly value: T; readonly size: number }[] = [];
  #head = 0;
  #bytes = 0;
  #full = false;
  #ended = false;
  #error: Error | null = null;
  #waiters: Waiter<T>[] = [];

  /** @param changed Called when `full` has changed: it becomes true beyond `most`, and false at half of it. */
  constructor(most: number, changed: () => void) {
    this.#most = most;
    this.#changed = changed;
  }

  get full(): boolean {
    return this.#full;
  }

  /** More than may be kept. */
  get overflowed(): boolean {
    return this.#bytes > FABRIC_LIMITS.clientBytes;
  }

  push(value: T, size: number): void {
    if (this.#ended) return;
    const waiter = this.#waiters.shift();
    if (waiter !== undefined) return waiter.resolve({ done: false, value });
    this.#items.push({ value, size });
    this.#bytes += size;
    this.#updateFull();
  }

  next(): Next<T> {
    const item = this.#items[this.#head];
    if (item !== undefined) {
      this.#head += 1;
      this.#bytes -= item.size;
      // Now and then, so that taking one costs the same however many there are.
      if (this.#head > this.#items.length / 2) {
        this.#items = this.#items.slice(this.#head);
        this.#head = 0;
      }
      this.#updateFull();
      return Promise.resolve({ done: false, value: item.value });
    }
    const error = this.#error;
    if (error !== null) {
      // Told once; then it is just the end.
      this.#error = null;
      return Promise.reject(error);
    }
    if (this.#ended) return Promise.resolve(DONE);
    return new Promise((resolve, reject) => this.#waiters.push({ resolve, reject }));
  }

  /** Nothing comes after what is there. With an error, it is told after that. */
  finish(error: Error | null): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    for (const waiter of this.#waiters.splice(0)) {
      const told = this.#error;
      this.#error = null;
      if (told === null) waiter.resolve(DONE);
      else waiter.reject(told);
    }
  }

  /** What is there is not wanted any more. */
  clear(): void {
    this.#items = [];
    this.#head = 0;
    this.#bytes = 0;
    this.#updateFull();
  }

  /** Nothing is wanted any more. */
  drop(): void {
    this.#error = null;
    this.finish(null);
    this.clear();
  }

  #updateFull(): void {
    const count = this.#items.length - this.#head;
    const full = this.#full ? count > this.#most / 2 : count > this.#most;
    if (full === this.#full) return;
    this.#full = full;
    this.#changed();
  }
}
