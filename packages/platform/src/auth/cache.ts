import type { Clock } from '@muster/base';

/**
 * What was read from the store, for a while. A value whose reading began before a change is not kept: it may be what
 * the change replaced.
 */
export class Cache<Value> {
  readonly #entries = new Map<string, { readonly value: Value; readonly until: number }>();
  readonly #clock: Clock;
  readonly #size: number;
  readonly #ttlMs: number;
  #changes = 0;

  constructor(options: { readonly clock: Clock; readonly size: number; readonly ttlMs: number }) {
    this.#clock = options.clock;
    this.#size = options.size;
    this.#ttlMs = options.ttlMs;
  }

  /** `undefined` is not remembered, so that what is created later is found at once. */
  async get<Read extends Value | undefined>(key: string, read: () => Promise<Read>): Promise<Value | Read> {
    const now = this.#clock.now();
    this.#expire(now);
    const known = this.#entries.get(key);
    if (known !== undefined && known.until > now) return known.value;
    const changes = this.#changes;
    const value = await read();
    if (value !== undefined && changes === this.#changes) this.#keep(key, value, now);
    return value;
  }

  /** They stand in the order in which they were read. Thousands of parsed keys are not kept for nothing. */
  #expire(now: number): void {
    for (const [key, { until }] of this.#entries) {
      if (until > now) return;
      this.#entries.delete(key);
    }
  }

  #keep(key: string, value: Value, now: number): void {
    this.#entries.delete(key);
    const oldest = this.#entries.size >= this.#size ? this.#entries.keys().next() : undefined;
    if (oldest?.done === false) this.#entries.delete(oldest.value);
    this.#entries.set(key, { value, until: now + this.#ttlMs });
  }

  forget(key: string): void {
    this.#changes++;
    this.#entries.delete(key);
  }

  clear(): void {
    this.#changes++;
    this.#entries.clear();
  }
}
