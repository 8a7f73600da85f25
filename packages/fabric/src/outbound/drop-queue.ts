import type { FabricMetrics } from '../metrics.js';
import { copyOf } from '../stomp/bytes.js';
import { type OutFrame, single } from './frame-sequence.js';
import type { Backlog, OutboundQueue } from './outbound-queue.js';

/**
 * What happens when the client of a subscription reads too slowly (F5): it is disconnected, or the newest or oldest
 * events are dropped.
 */
export type SlowPolicy = 'disconnect' | 'drop-newest' | 'drop-oldest';

export const SLOW_POLICIES: readonly SlowPolicy[] = ['disconnect', 'drop-newest', 'drop-oldest'];

/**
 * Events of a subscription with `slow:drop-newest` or `slow:drop-oldest` that wait while its client is slow. When there
 * is no room, events are dropped, and a marker in their place tells the client how many.
 */
export class DropQueue implements Backlog {
  readonly #policy: SlowPolicy;
  readonly #queue: OutboundQueue;
  readonly #metrics: FabricMetrics;
  readonly #marker: (dropped: number) => OutFrame;
  /** Markers of gaps whose size is unknown. */
  readonly #markersWithoutCount = new WeakSet<OutFrame>();
  #frames: OutFrame[] = [];
  #first = 0;
  /** Events dropped before the first frame, and after the last; infinite: unknown how many. */
  #droppedBefore = 0;
  #droppedAfter = 0;

  /** @param marker Makes the MESSAGE that says how many events are missing; infinite: unknown how many. */
  constructor(policy: SlowPolicy, queue: OutboundQueue, metrics: FabricMetrics, marker: (dropped: number) => OutFrame) {
    this.#policy = policy;
    this.#queue = queue;
    this.#metrics = metrics;
    this.#marker = marker;
  }

  add(frame: OutFrame): void {
    if (this.#empty) {
      if (this.#queue.ready) {
        this.#queue.add(frame);
        return;
      }
      this.#queue.addBacklog(this);
    }
    while (!this.#queue.fits(frame.end - frame.start)) {
      this.#metrics.dropped += 1;
      if (this.#policy === 'drop-newest') {
        this.#droppedAfter += 1;
        return;
      }
      this.#droppedBefore += 1;
      const oldest = this.#shift();
      if (oldest === undefined) return;
      if (this.#markersWithoutCount.has(oldest)) this.#droppedBefore = Number.POSITIVE_INFINITY;
    }
    if (this.#droppedAfter > 0) {
      const marker = this.#push(this.#marker(this.#droppedAfter));
      if (this.#droppedAfter === Number.POSITIVE_INFINITY) this.#markersWithoutCount.add(marker);
    }
    this.#droppedAfter = 0;
    this.#push(frame);
  }

  /** Events may be missing here for another reason than a slow client. */
  gap(): void {
    if (this.#empty) {
      if (this.#queue.ready) return this.#queue.add(this.#marker(Number.POSITIVE_INFINITY));
      this.#queue.addBacklog(this);
    }
    this.#droppedAfter = Number.POSITIVE_INFINITY;
  }

  resume(): void {
    while (this.#queue.ready) {
      const frame = this.#next();
      if (frame === undefined) {
        this.#queue.removeBacklog(this);
        return;
      }
      this.#queue.add(frame);
    }
  }

  close(): void {
    while (this.#shift() !== undefined);
    this.#droppedBefore = 0;
    this.#droppedAfter = 0;
    this.#queue.removeBacklog(this);
  }

  get #empty(): boolean {
    return this.#first === this.#frames.length && this.#droppedBefore === 0 && this.#droppedAfter === 0;
  }

  #next(): OutFrame | undefined {
    const before = this.#droppedBefore;
    this.#droppedBefore = 0;
    if (before > 0) return this.#marker(before);
    const frame = this.#shift();
    if (frame !== undefined || this.#droppedAfter === 0) return frame;
    const after = this.#droppedAfter;
    this.#droppedAfter = 0;
    return this.#marker(after);
  }

  /** Copies the frame: it may wait for long, and would keep the whole frame buffer in memory. */
  #push(frame: OutFrame): OutFrame {
    const bytes = copyOf(frame.bytes, frame.start, frame.end);
    const kept = single(bytes);
    this.#frames.push(kept);
    this.#queue.countBacklog(bytes.length);
    return kept;
  }

  #shift(): OutFrame | undefined {
    const frame = this.#frames[this.#first];
    if (frame === undefined) return undefined;
    this.#queue.countBacklog(frame.start - frame.end);
    this.#first += 1;
    if (this.#first * 2 > this.#frames.length) {
      this.#frames = this.#frames.slice(this.#first);
      this.#first = 0;
    }
    return frame;
  }
}
