/** All chance of a run comes from its seed. Mulberry32: 32 bits of state are plenty to tell runs apart. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  /** Both ends included. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  pick<T>(from: readonly [T, ...T[]]): T {
    return from[Math.floor(this.next() * from.length)] ?? from[0];
  }

  /** Of a list that may be empty. */
  some<T>(from: readonly T[]): T | undefined {
    return from[Math.floor(this.next() * from.length)];
  }

  /** Exponential: many short, a few long. */
  around(mean: number): number {
    return -Math.log(1 - this.next()) * mean;
  }

  /** Another sequence, so that more draws in one part of a run do not change another. */
  fork(): Random {
    return new Random(Math.floor(this.next() * 4_294_967_296));
  }
}
