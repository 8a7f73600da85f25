import { Violation } from '../kernel/violation.js';
import type { Disk } from './disk.js';
import { isPoison } from './lane.js';

export type Kind = 'commit' | 'persist' | 'transact';

/** Something that was handed to a store. */
export interface Call {
  readonly kind: Kind;
  readonly rows: readonly number[];
  /** Of the process that it was handed to. */
  readonly life: number;
  readonly atMs: number;
  state: 'waiting' | 'stored' | 'refused';
  /** Told early that it is durable. */
  early: boolean;
  /** The numbers of its rows, as far as they were told. */
  readonly numbers: number[];
}

/** What callers of a store are promised (store/types.ts), checked against what is on the disk. */
export class Calls {
  readonly all: Call[] = [];
  readonly #disk: Disk;
  readonly #report: (violation: Violation) => void;

  constructor(disk: Disk, report: (violation: Violation) => void) {
    this.#disk = disk;
    this.#report = report;
  }

  durable(call: Call): boolean {
    return call.rows.every((row) => this.#disk.has(row));
  }

  /** By the callback, before the promise. */
  toldEarly(call: Call): void {
    if (call.early || call.state !== 'waiting') this.#fail('told once', call);
    call.early = true;
    if (!this.durable(call)) this.#fail('acknowledged is stored', call);
  }

  resolved(call: Call): void {
    call.state = 'stored';
    // A row's number is its place: both follow each other in the order of the commits.
    const places = call.rows.map((row) => this.#disk.placeOf(row));
    if (places.join() !== call.numbers.join()) this.#fail('numbers in order', call);
    if (!this.durable(call)) this.#fail('acknowledged is stored', call);
    if (call.kind === 'commit' && !call.early) this.#fail('told once', call);
  }

  /** @param closed the store was closed, or is being closed. */
  rejected(call: Call, closed: boolean): void {
    call.state = 'refused';
    if (call.early || call.numbers.length > 0) this.#fail('told once', call);
    if (call.rows.some((row) => this.#disk.has(row)) && !closed) this.#fail('refused is not stored', call);
    if (call.kind === 'persist' && !closed && !call.rows.some(isPoison)) this.#fail('transitions are kept', call);
  }

  /** In the end, when nothing is under way any more. `lives`: processes that were closed or died. */
  check(): void {
    let last = -1;
    let life = 0;
    for (const call of this.all) {
      const places = call.rows.map((row) => this.#disk.placeOf(row));
      const first = places[0] ?? null;
      const whole = places.every((place, at) => (first === null ? place === null : place === first + at));
      if (!whole) this.#fail('all or nothing', call);
      if (call.state === 'stored' && first === null) this.#fail('acknowledged is stored', call);
      if (call.life !== life) [life, last] = [call.life, -1];
      // Transactions of their own take their turn in the same lane.
      if (first === null) continue;
      if (first < last) this.#fail('order', call);
      last = first;
    }
  }

  #fail(rule: string, { kind, rows, life, state }: Call): void {
    this.#report(new Violation(rule, `${kind} of rows ${rows.join(' ')} by process ${life}, ${state}`));
  }
}
