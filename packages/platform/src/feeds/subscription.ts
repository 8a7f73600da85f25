/**
 * A reader's place in a live stream: a bounded queue with one consumer. When the reader falls behind by more than
 * the limit the queue is emptied and `lagged` is delivered instead: the reader catches up from where the history
 * is kept, so that a slow reader costs neither memory nor events.
 */
export class Subscription<T> {
  readonly #limit: number;
  #queue: T[] = [];
  #lagged = false;
  #closed = false;
  #wake: (() => void) | null = null;

  constructor(limit: number) {
    this.#limit = limit;
  }

  push(item: T): void {
    if (this.#closed) return;
    if (this.#queue.length >= this.#limit) {
      this.#queue = [];
      this.#lagged = true;
    }
    if (!this.#lagged) this.#queue.push(item);
    this.#notify();
  }

  /** What is queued is still delivered. */
  close(): void {
    this.#closed = true;
    this.#notify();
  }

  /** The next item; `lagged` when items were dropped; null when the stream is over. One caller at a time. */
  async next(): Promise<T | 'lagged' | null> {
    for (;;) {
      if (this.#lagged) {
        this.#lagged = false;
        return 'lagged';
      }
      const item = this.#queue.shift();
      if (item !== undefined) return item;
      if (this.#closed) return null;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  #notify(): void {
    const wake = this.#wake;
    this.#wake = null;
    wake?.();
  }
}

/** Live streams by topic. A topic costs nothing while nobody listens. */
export class Topics<T> {
  readonly #limit: number;
  readonly #readers = new Map<string, Set<Subscription<T>>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  subscribe(topic: string): Subscription<T> {
    const subscription = new Subscription<T>(this.#limit);
    const readers = this.#readers.get(topic) ?? new Set();
    readers.add(subscription);
    this.#readers.set(topic, readers);
    return subscription;
  }

  unsubscribe(topic: string, subscription: Subscription<T>): void {
    subscription.close();
    const readers = this.#readers.get(topic);
    readers?.delete(subscription);
    if (readers?.size === 0) this.#readers.delete(topic);
  }

  publish(topic: string, item: T): void {
    for (const subscription of this.#readers.get(topic) ?? []) subscription.push(item);
  }

  isRead(topic: string): boolean {
    return this.#readers.has(topic);
  }

  /** Ends the streams of one topic. */
  close(topic: string): void {
    for (const subscription of this.#readers.get(topic) ?? []) subscription.close();
    this.#readers.delete(topic);
  }

  closeAll(): void {
    for (const topic of [...this.#readers.keys()]) this.close(topic);
  }

  /** Readers of all topics. */
  get size(): number {
    let size = 0;
    for (const readers of this.#readers.values()) size += readers.size;
    return size;
  }
}
