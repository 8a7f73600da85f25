import { MISSED, type Store } from '@muster/store';

/**
 * What was read of organizations, kept until somebody changes it: in this process or in another one, which tells by a hint.
 * Hints that may have been lost empty it.
 */
export class HintedCache<Value> {
  readonly #store: Pick<Store, 'hints'>;
  readonly #topic: string;
  readonly #size: number;
  /** By organization, then by key, the oldest first. */
  readonly #known = new Map<string, Map<string, Promise<Value>>>();
  readonly #stop: () => void;
  #count = 0;

  /** @param topic By which servers tell each other of changes. */
  constructor(store: Pick<Store, 'hints'>, topic: string, size: number) {
    this.#store = store;
    this.#topic = topic;
    this.#size = size;
    this.#stop = store.hints.listen(topic, (orgId) => (orgId === MISSED ? this.#clear() : this.#forget(orgId)));
  }

  get(orgId: string, key: string, read: () => Promise<Value>): Promise<Value> {
    const known = this.#known.get(orgId)?.get(key);
    if (known !== undefined) return known;
    if (this.#count >= this.#size) this.#clear();
    const reading = read();
    const values = this.#known.get(orgId) ?? new Map<string, Promise<Value>>();
    this.#known.set(orgId, values);
    values.set(key, reading);
    this.#count += 1;
    // What could not be read is asked for again.
    reading.catch(() => {
      if (values.get(key) !== reading) return;
      values.delete(key);
      if (this.#known.get(orgId) === values) this.#count -= 1;
    });
    return reading;
  }

  /** To be called when a change is stored: from now on nobody here is told the former value. */
  changed(orgId: string): void {
    this.#forget(orgId);
    this.#store.hints.send(this.#topic, orgId);
  }

  stop(): void {
    this.#stop();
    this.#clear();
  }

  #forget(orgId: string): void {
    this.#count -= this.#known.get(orgId)?.size ?? 0;
    this.#known.delete(orgId);
  }

  #clear(): void {
    this.#known.clear();
    this.#count = 0;
  }
}
