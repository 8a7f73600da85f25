import { compileText, type TextAttributes } from '@muster/selector';
import { MusterError } from '../errors.js';
import { Delivery } from '../event/delivery.js';
import type { LoggedEvent } from '../event/event.js';
import type { Hub, Receiver, Registration } from '../hub/hub.js';
import type { FabricLog } from '../log.js';
import type { FabricMetrics } from '../metrics.js';
import type { ReplayRequest } from '../session/broker.js';
import type { Durable } from './durable/machine.js';
import type { EventLog, PageLimit } from './ports.js';

export interface LogFollowerPorts {
  readonly events: EventLog;
  readonly hub: Hub;
  readonly metrics: FabricMetrics;
  readonly log: FabricLog;
  /** The position up to which all events have been delivered by the hub. */
  deliveredThrough(): number;
}

const PAGE: PageLimit = { events: 500, bytes: 1024 * 1024 };
const ONE: PageLimit = { events: 1, bytes: 1 };

/** A page of the log of which not all events are delivered, as the client has enough to read. */
interface UndeliveredPage {
  readonly events: readonly LoggedEvent[];
  next: number;
  readonly through: number;
}

/**
 * Follows the log for one subscription, without gap or repetition (F6). It is in one of three states:
 *
 *     reading  pages of the log, until its end
 *     waiting  until the client has room for more
 *     live     registered at the hub, as it has read to the end of the log: new events come from there
 *
 * When a live client cannot keep up, it leaves the hub and reads the log again from where it is: no events are kept for
 * it in memory, and none is lost.
 */
export class LogFollower implements Receiver {
  readonly #request: ReplayRequest;
  readonly #ports: LogFollowerPorts;
  readonly #matches: (event: TextAttributes) => boolean;
  readonly #durable: Durable | null;
  readonly #delivery = new Delivery();
  /** The position up to which the log was read, or the hub has delivered. */
  #through: number;
  #undelivered: UndeliveredPage | null = null;
  #registration: Registration | null = null;
  #busy = false;
  #ended = false;
  /** Tell the client of events that were pruned before they were read. */
  #reportsPruned: boolean;

  /** @param reportsPruned The client has named a position to go on from, so that pruned events are a gap. */
  constructor(
    request: ReplayRequest,
    through: number,
    reportsPruned: boolean,
    durable: Durable | null,
    ports: LogFollowerPorts,
  ) {
    this.#request = request;
    this.#through = through;
    this.#reportsPruned = reportsPruned;
    this.#durable = durable;
    this.#ports = ports;
    this.#matches = compileText(request.selector);
  }

  /** The position up to which nothing remains to be delivered. */
  get through(): number {
    return this.#registration === null ? this.#through : Math.max(this.#through, this.#ports.deliveredThrough());
  }

  /** Goes on reading, if it can. Called whenever something has changed that it may have waited for. */
  advance(): void {
    if (this.#busy || this.#ended) return;
    this.#run().catch((error: unknown) => {
      if (!this.#ended) this.#failed(error);
    });
  }

  end(): void {
    this.#through = this.through;
    this.#ended = true;
    this.#undelivered = null;
    this.#leaveHub();
  }

  /** What was delivered after that position is read again. */
  rewind(after: number): void {
    const through = Math.min(after, this.through);
    this.#leaveHub();
    this.#undelivered = null;
    this.#through = this.#durable?.takeBack(through) ?? through;
  }

  /** An event while it is live. */
  take(delivery: Delivery): void {
    if (this.#canTake) {
      this.#deliver(delivery, false);
      return;
    }
    this.#through = delivery.position - 1;
    this.#leaveHub();
  }

  get #canTake(): boolean {
    return this.#request.subscriber.ready && this.#durable?.full !== true;
  }

  async #run(): Promise<void> {
    this.#busy = true;
    try {
      while (!this.#ended && this.#request.subscriber.ready) {
        const refused = this.#durable?.refused ?? null;
        if (refused !== null) await this.#redeliver(refused);
        else if (this.#registration !== null || !this.#canTake) return;
        else if (this.#undelivered !== null) this.#deliverPage(this.#undelivered);
        else await this.#read();
      }
    } finally {
      this.#busy = false;
    }
  }

  async #read(): Promise<void> {
    const { events, metrics } = this.#ports;
    const { subscriber, org } = this.#request;
    const after = this.#through;
    const page = await events.read(after, org, PAGE);
    if (this.#ended || this.#through !== after) return;
    const missing = page.prunedThrough - after;
    if (missing > 0 && this.#reportsPruned) {
      metrics.expired += missing;
      subscriber.missed(missing, 'no longer in the log; at most that many');
    }
    this.#reportsPruned = true;
    this.#undelivered = { events: page.events, next: 0, through: page.through };
    this.#deliverPage(this.#undelivered);
  }

  #deliverPage(page: UndeliveredPage): void {
    for (; page.next < page.events.length; page.next++) {
      const event = page.events[page.next] as LoggedEvent;
      this.#delivery.show(event);
      if (!this.#wanted(event.position)) continue;
      if (!this.#canTake) return;
      this.#ports.metrics.replayed += 1;
      this.#deliver(this.#delivery, false);
    }
    this.#undelivered = null;
    this.#readTo(page.through);
    // Everything that the log has announced was read: the next event comes from the hub.
    if (this.#through >= this.#ports.events.last())
      this.#registration = this.#ports.hub.add(this.#request.selector, this);
  }

  #wanted(position: number): boolean {
    return this.#durable?.wants(position) !== false && this.#matches(this.#delivery);
  }

  #deliver(delivery: Delivery, again: boolean): void {
    this.#durable?.delivered(delivery.position);
    this.#readTo(delivery.position);
    this.#request.subscriber.deliver(delivery, again);
  }

  #readTo(position: number): void {
    if (position > this.#through) this.#through = position;
    this.#durable?.readTo(position);
  }

  /** Delivers again an event that the client has refused. It is read from the log, if it is still there. */
  async #redeliver(position: number): Promise<void> {
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
    this.#deliver(this.#delivery, true);
  }

  #leaveHub(): void {
    if (this.#registration !== null) this.#ports.hub.remove(this.#registration);
    this.#registration = null;
  }

  #failed(error: unknown): void {
    const cause = error instanceof MusterError ? error : new MusterError('internal', {}, { cause: error });
    if (cause !== error) this.#ports.log.error({ err: error }, 'reading the event log failed');
    this.#request.subscriber.fail(cause, null);
  }
}
