/**
 * What a durable subscription knows of its messages. Pure, but changed in place: copying what waits with every message
 * would cost more than all the rest.
 *
 * A message is, in this order:
 *
 *     unread        beyond `read`; ends when the log is read up to it
 *     waiting       delivered; ends with ACK, or NACK; unread again when it did not reach the client
 *     refused       NACKed, waits to be delivered again; ends with that (waiting again), or ACK
 *     acknowledged  or given up after as many deliveries as allowed: the end
 *
 * Up to `through` everything is acknowledged, or not for this subscription. That and what was acknowledged beyond it is
 * what a restart needs: everything else is delivered again then.
 */
export class Durable {
  readonly #limits: DurableLimits;
  #read: number;
  /** How often each was delivered; ascending, as messages are first delivered in order. Refused ones are among them. */
  readonly #waiting = new Map<number, number>();
  readonly #refused = new Set<number>();
  readonly #acknowledged: Set<number>;

  constructor(through: number, acknowledged: readonly number[], limits: DurableLimits) {
    this.#read = through;
    this.#acknowledged = new Set(acknowledged);
    this.#limits = limits;
  }

  /** Up to here the log was read. */
  get read(): number {
    return this.#read;
  }

  /** Nothing new may be delivered before something is acknowledged. */
  get full(): boolean {
    return this.#waiting.size + this.#acknowledged.size >= this.#limits.prefetch;
  }

  /** The message that is to be delivered again next, or null. */
  get refused(): number | null {
    for (const position of this.#refused) return position;
    return null;
  }

  /** Whether a message that is read now is to be delivered: it may have been acknowledged before a restart. */
  wants(position: number): boolean {
    return !this.#acknowledged.has(position);
  }

  delivered(position: number): void {
    this.#refused.delete(position);
    this.#waiting.set(position, (this.#waiting.get(position) ?? 0) + 1);
    this.readTo(position);
  }

  /** What lies between was not for it. */
  readTo(position: number): void {
    if (position > this.#read) this.#read = position;
  }

  /**
   * Messages after that position did not reach the client: they are unread again.
   * @returns where to read on; what was settled stays so.
   */
  takeBack(after: number): number {
    this.#read = Math.min(this.#read, Math.max(after, this.#through()));
    for (const position of [...this.#waiting.keys()]) {
      if (position <= this.#read) continue;
      this.#waiting.delete(position);
      this.#refused.delete(position);
    }
    return this.#read;
  }

  /** `cumulative`: whatever was delivered before it, too. What does not wait changes nothing: ACKs may be repeated. */
  ack(position: number, cumulative: boolean): void {
    for (const each of this.#meant(position, cumulative)) this.#done(each);
  }

  /** @returns what is given up, as it was delivered as often as is allowed. */
  nack(position: number, cumulative: boolean): readonly number[] {
    const givenUp: number[] = [];
    for (const each of this.#meant(position, cumulative)) {
      if ((this.#waiting.get(each) ?? 0) < this.#limits.deliveries) this.#refused.add(each);
      else {
        this.#done(each);
        givenUp.push(each);
      }
    }
    return givenUp;
  }

  /** What a restart needs. */
  progress(): Progress {
    this.#prune();
    return { through: this.#through(), acknowledged: [...this.#acknowledged].sort((a, b) => a - b) };
  }

  #meant(position: number, cumulative: boolean): readonly number[] {
    if (!cumulative) return this.#waiting.has(position) ? [position] : [];
    const meant: number[] = [];
    for (const each of this.#waiting.keys()) {
      if (each > position) break;
      meant.push(each);
    }
    return meant;
  }

  #done(position: number): void {
    const first = this.#first() === position;
    this.#waiting.delete(position);
    this.#refused.delete(position);
    this.#acknowledged.add(position);
    // Only when the oldest goes does anything before the next one become superfluous.
    if (first) this.#prune();
  }

  #prune(): void {
    const through = this.#through();
    for (const position of this.#acknowledged) if (position <= through) this.#acknowledged.delete(position);
  }

  #through(): number {
    const first = this.#first();
    return first === null ? this.#read : first - 1;
  }

  #first(): number | null {
    for (const position of this.#waiting.keys()) return position;
    return null;
  }
}

export interface DurableLimits {
  /** Messages delivered and not acknowledged, and those acknowledged out of turn. */
  readonly prefetch: number;
  /** Of one message that is refused again and again. */
  readonly deliveries: number;
}

export interface Progress {
  readonly through: number;
  /** Beyond `through`, ascending. */
  readonly acknowledged: readonly number[];
}
