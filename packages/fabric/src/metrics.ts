/**
 * What a root or relay counts. Plain numbers that only grow, so that counting costs nothing; gauges (clients,
 * subscriptions, queues) are asked of whoever has them when they are wanted.
 */
export class FabricMetrics {
  /** Connections taken, and those that logged in. */
  accepted = 0;
  opened = 0;
  /** Connections refused because too many had not logged in: all together, or of their address. */
  refusedBeforeLogin = 0;
  loginsRefused = 0;
  /** Events that clients published, and those that were refused on the way to the log or upstream. */
  eventsIn = 0;
  eventsFailed = 0;
  /** Events that were compared with subscriptions; MESSAGEs made of them; those of replays come on top. */
  matched = 0;
  deliveries = 0;
  replayed = 0;
  bytesIn = 0;
  bytesOut = 0;
  subscribed = 0;
  selectorsRefused = 0;
  /** Sessions that ended with an ERROR because of what the client sent. */
  protocolErrors = 0;
  /** Sessions that ended because the client read too slowly (F5), and events not delivered by `slow:drop-*`. */
  slowDisconnects = 0;
  dropped = 0;
  /** Peers found dead by heart-beats. */
  silent = 0;
  /** Messages of durable subscriptions that were delivered again, and those given up. */
  redelivered = 0;
  givenUp = 0;
  /** Events that were pruned from the log before a subscription came to read them (positions, an upper bound). */
  expired = 0;
  /** Relays cut because this process stood still. */
  stalls = 0;
  readonly matchMs = new Samples();
}

/** The latest of many measurements. */
export class Samples {
  readonly #ring = new Float64Array(1024);
  #count = 0;

  add(value: number): void {
    this.#ring[this.#count % this.#ring.length] = value;
    this.#count += 1;
  }

  /** How many were ever taken. */
  get count(): number {
    return this.#count;
  }

  /** @param shares from 0 to 1, such as 0.99. @returns as many values; 0 when nothing was measured. */
  quantiles(...shares: readonly number[]): number[] {
    const sorted = this.#ring.slice(0, Math.min(this.#count, this.#ring.length)).sort();
    return shares.map((share) => sorted[Math.min(Math.floor(share * sorted.length), sorted.length - 1)] ?? 0);
  }
}
