import { compileText, type TextAttributes } from '@muster/selector';
import { MusterError } from '@muster/wire';
import type { Durable } from '../durable/machine.js';
import { Delivery } from '../hub/delivery.js';
import type { Hub, Place, Receiver } from '../hub/hub.js';
import type { FabricMetrics } from '../metrics.js';
import type { FabricLog } from '../session/context.js';
import type { ReplayRequest } from '../session/ports.js';
import type { LoggedEvent } from './event.js';
import type { EventLog, PageLimit } from './ports.js';

export interface FeedPorts {
  readonly events: EventLog;
  readonly hub: Hub;
  readonly metrics: FabricMetrics;
  readonly log: FabricLog;
  /** Everything up to this position was handed to the hub. */
  told(): number;
}

const PAGE: PageLimit = { events: 500, bytes: 1024 * 1024 };
const ONE: PageLimit = { events: 1, bytes: 1 };

/** What a page could not deliver, as the client has enough to do for now. */
interface Rest {
  readonly events: readonly LoggedEvent[];
  next: number;
  readonly through: number;
}

/**
 * Follows the log for one subscription, without gap or repetition (F6). It is either reading the log, or waiting until
 * its client can take more, or live: then it has a place in the hub, as it has read to the end of the log and whatever
 * comes next comes from there. When a live client cannot keep up, reading the log goes on where it was: nothing is kept
 * for it, and nothing is lost.
 */
export class Feed implements Receiver {
  readonly #request: ReplayRequest;
  readonly #ports: FeedPorts;
  readonly #matches: (event: TextAttributes) => boolean;
  readonly #durable: Durable | null;
  readonly #delivery = new Delivery();
  /** Up to here the log was read, or the hub has told. */
  #through: number;
  #rest: Rest | null = null;
  #place: Place | null = null;
  #busy = false;
  #ended = false;
  /** What was pruned before it was read is told of. */
  #mindsGaps: boolean;

  /** @param mindsGaps the client knows from where it wants to go on, not only from when. */
  constructor(request: ReplayRequest, through: number, mindsGaps: boolean, durable: Durable | null, ports: FeedPorts) {
    this.#request = request;
    this.#through = through;
    this.#mindsGaps = mindsGaps;
    this.#durable = durable;
    this.#ports = ports;
    this.#matches = compileText(request.selector);
  }

  /** Up to here nothing remains to be read. */
  get through(): number {
    return this.#place === null ? this.#through : Math.max(this.#through, this.#ports.told());
  }

  /** Goes on, if it can. Called whenever something has changed that it may have waited for. */
  advance(): void {
    if (this.#busy || this.#ended) return;
    this.#run().catch((error: unknown) => {
      if (!this.#ended) this.#failed(error);
    });
  }

  end(): void {
    this.#through = this.through;
    this.#ended = true;
    this.#rest = null;
    this.#leave();
  }

  /** An event while it is live. */
  take(delivery: Delivery): void {
    if (this.#canTake) {
      this.#hand(delivery, false);
      return;
    }
    this.#through = delivery.position - 1;
    this.#leave();
  }

  get #canTake(): boolean {
    return this.#request.subscriber.ready && this.#durable?.full !== true;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    try {
      while (!this.#ended && this.#request.subscriber.ready) {
        const refused = this.#durable?.refused ?? null;
        if (refused !== null) await this.#again(refused);
        else if (this.#place !== null || !this.#canTake) return;
        else if (this.#rest !== null) this.#deliverRest(this.#rest);
        else await this.#read();
      }
    } finally {
      this.#busy = false;
    }
  }

  async #read(): Promise<void> {
    const { events, metrics } = this.#ports;
    const { subscriber, org } = this.#request;
    const page = await events.read(this.#through, org, PAGE);
    if (this.#ended) return;
    const missing = page.prunedThrough - this.#through;
    if (missing > 0 && this.#mindsGaps) {
      metrics.expired += missing;
      subscriber.missed(missing, 'no longer in the log; at most that many');
    }
    this.#mindsGaps = true;
    this.#rest = { events: page.events, next: 0, through: page.through };
    this.#deliverRest(this.#rest);
  }

  #deliverRest(rest: Rest): void {
    for (; rest.next < rest.events.length; rest.next++) {
      const event = rest.events[rest.next] as LoggedEvent;
      this.#delivery.show(event);
      if (!this.#wanted(event.position)) continue;
      if (!this.#canTake) return;
      this.#ports.metrics.replayed += 1;
      this.#hand(this.#delivery, false);
    }
    this.#rest = null;
    this.#readTo(rest.through);
    // What the log has told everybody of is what was read: the next event comes from the hub.
    if (this.#through >= this.#ports.events.last()) this.#place = this.#ports.hub.add(this.#request.selector, this);
  }

  #wanted(position: number): boolean {
    return this.#durable?.wants(position) !== false && this.#matches(this.#delivery);
  }

  #hand(delivery: Delivery, again: boolean): void {
    this.#durable?.delivered(delivery.position);
    this.#readTo(delivery.position);
    this.#request.subscriber.deliver(delivery, again);
  }

  #readTo(position: number): void {
    if (position > this.#through) this.#through = position;
    this.#durable?.readTo(position);
  }

  /** A message that the client refused. It is not kept here, but in the log: if it is still there. */
  async #again(position: number): Promise<void> {
    const { events, metrics } = this.#ports;
    const page = await events.read(position - 1, this.#request.org, ONE);
    if (this.#ended) return;
    const event = page.events[0];
    // It may have been acknowledged meanwhile.
    if (this.#durable?.refused !== position) return;
    if (event?.position !== position) {
      metrics.expired += 1;
      this.#durable.ack(position, false);
      this.#request.subscriber.missed(1, 'no longer in the log');
      return;
    }
    metrics.redelivered += 1;
    this.#delivery.show(event);
    this.#hand(this.#delivery, true);
  }

  #leave(): void {
    if (this.#place !== null) this.#ports.hub.remove(this.#place);
    this.#place = null;
  }

  #failed(error: unknown): void {
    const told = error instanceof MusterError ? error : new MusterError('internal', {}, { cause: error });
    if (told !== error) this.#ports.log.error({ err: error }, 'reading the event log failed');
    this.#request.subscriber.fail(told, null);
  }
}
