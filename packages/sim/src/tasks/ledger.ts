import type { TaskRef } from '@muster/wire';
import { Violation } from '../kernel/violation.js';

/** What really happened on nodes, seen by nobody else. */
export class Ledger {
  readonly #report: (violation: Violation) => void;
  readonly #begun = new Map<string, { readonly node: string; running: boolean; status: number | null }>();
  /** Attempts that run, by task. */
  readonly #running = new Map<string, Set<string>>();
  /** Attempts that the server has given up: it knows that they may still run. */
  readonly givenUp = new Set<string>();
  runs = 0;

  constructor(report: (violation: Violation) => void) {
    this.#report = report;
  }

  began(node: string, ref: TaskRef): void {
    const key = keyOf(ref);
    this.runs += 1;
    const before = this.#begun.get(key);
    if (before !== undefined) {
      this.#report(new Violation('an attempt begins once', `${key} on ${before.node}, and again on ${node}`));
      return;
    }
    this.#begun.set(key, { node, running: true, status: null });
    const others = this.#running.get(ref.id) ?? new Set();
    for (const other of others) {
      if (!this.givenUp.has(other) && !this.givenUp.has(key))
        this.#report(new Violation('one at a time', `${other} and ${key} run both`));
    }
    others.add(key);
    this.#running.set(ref.id, others);
  }

  finished(ref: TaskRef, status: number): void {
    const begun = this.#begun.get(keyOf(ref));
    if (begun !== undefined) begun.status = status;
    this.stopped(ref);
  }

  /** It runs no more. */
  stopped(ref: TaskRef): void {
    const begun = this.#begun.get(keyOf(ref));
    if (begun !== undefined) begun.running = false;
    this.#running.get(ref.id)?.delete(keyOf(ref));
  }

  isRunning(ref: TaskRef): boolean {
    return this.#begun.get(keyOf(ref))?.running === true;
  }

  /** How an attempt really ended; null: it did not, or never began. */
  statusOf(ref: TaskRef): number | null {
    return this.#begun.get(keyOf(ref))?.status ?? null;
  }
}

export function keyOf({ id, attempt }: TaskRef): string {
  return `${id}:${attempt}`;
}
