import type { FabricMetrics } from '../metrics.js';
import { copyOf } from '../stomp/bytes.js';
import { type OutFrame, single } from './chain.js';
import type { Outlet, Waiting } from './outlet.js';

/** What a subscription loses when its client reads too slowly: the connection, or what comes last, or what came first (F5). */
export type SlowPolicy = 'disconnect' | 'drop-newest' | 'drop-oldest';

export const SLOW_POLICIES: readonly SlowPolicy[] = ['disconnect', 'drop-newest', 'drop-oldest'];

/**
 * Events of a subscription that would rather lose some of them than the connection: they wait here while the client is
 * slow. Where some were dropped there is a gap, which becomes a marker in the stream.
 */
export class Lane implements Waiting {
  readonly #policy: SlowPolicy;
  readonly #outlet: Outlet;
  readonly #metrics: FabricMetrics;
  readonly #marker: (dropped: number) => OutFrame;
  /** Markers of which nobody knows how many are missing there. */
  readonly #unknown = new WeakSet<OutFrame>();
  #frames: OutFrame[] = [];
  #first = 0;
  /** Dropped before the first frame, and after the last; infinite when nobody knows how many. */
  #before = 0;
  #after = 0;

  /** @param marker The MESSAGE that says how many events are missing; infinite: nobody knows. */
  constructor(policy: SlowPolicy, outlet: Outlet, metrics: FabricMetrics, marker: (dropped: number) => OutFrame) {
    this.#policy = policy;
    this.#outlet = outlet;
    this.#metrics = metrics;
    this.#marker = marker;
  }

  offer(frame: OutFrame): void {
    if (this.#empty) {
      if (this.#outlet.ready) {
        this.#outlet.add(frame);
        return;
      }
      this.#outlet.wait(this);
    }
    while (!this.#outlet.fits(frame.end - frame.start)) {
      this.#metrics.dropped += 1;
      if (this.#policy === 'drop-newest') {
        this.#after += 1;
        return;
      }
      this.#before += 1;
      const oldest = this.#shift();
      if (oldest === undefined) return;
      if (this.#unknown.has(oldest)) this.#before = Number.POSITIVE_INFINITY;
    }
    if (this.#after > 0) {
      const marker = this.#push(this.#marker(this.#after));
      if (this.#after === Number.POSITIVE_INFINITY) this.#unknown.add(marker);
    }
    this.#after = 0;
    this.#push(frame);
  }

  /** Events may be missing here, and not because the client is slow. */
  gap(): void {
    if (this.#empty) {
      if (this.#outlet.ready) return this.#outlet.add(this.#marker(Number.POSITIVE_INFINITY));
      this.#outlet.wait(this);
    }
    this.#after = Number.POSITIVE_INFINITY;
  }

  pump(): void {
    while (this.#outlet.ready) {
      const frame = this.#next();
      if (frame === undefined) {
        this.#outlet.rest(this);
        return;
      }
      this.#outlet.add(frame);
    }
  }

  close(): void {
    while (this.#shift() !== undefined);
    this.#before = 0;
    this.#after = 0;
    this.#outlet.rest(this);
  }

  get #empty(): boolean {
    return this.#first === this.#frames.length && this.#before === 0 && this.#after === 0;
  }

  #next(): OutFrame | undefined {
    const before = this.#before;
    this.#before = 0;
    if (before > 0) return this.#marker(before);
    const frame = this.#shift();
    if (frame !== undefined || this.#after === 0) return frame;
    const after = this.#after;
    this.#after = 0;
    return this.#marker(after);
  }

  /** In memory of its own: nobody knows for how long. */
  #push(frame: OutFrame): OutFrame {
    const bytes = copyOf(frame.bytes, frame.start, frame.end);
    const kept = single(bytes);
    this.#frames.push(kept);
    this.#outlet.held(bytes.length);
    return kept;
  }

  #shift(): OutFrame | undefined {
    const frame = this.#frames[this.#first];
    if (frame === undefined) return undefined;
    this.#outlet.held(frame.start - frame.end);
    this.#first += 1;
    if (this.#first * 2 > this.#frames.length) {
      this.#frames = this.#frames.slice(this.#first);
      this.#first = 0;
    }
    return frame;
  }
}
