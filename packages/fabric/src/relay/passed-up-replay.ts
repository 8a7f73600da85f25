import { print } from '@muster/selector';
import { type Clock, MusterError } from '@muster/wire';
import { Delivery } from '../hub/delivery.js';
import { FABRIC_LIMITS } from '../limits.js';
import { EVENTS_DESTINATION } from '../root/stamp.js';
import { stillAgo } from '../session/from.js';
import type { Replay, ReplayRequest } from '../session/ports.js';
import { bytesOf } from '../stomp/bytes.js';
import { frame, type Headers } from '../stomp/frame.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import type { Upstream } from './upstream.js';

/** Under this type the root says that events are missing in a stream. */
const MARKER = 'fabric.dropped';

export interface PassedUpPorts {
  /** Answers a new id, whose messages come here from now on. */
  register(): string;
  unregister(id: string): void;
  /** The client does not want it any more. */
  ended(): void;
}

/** One subscription that upstream serves for a client. */
export class PassedUpReplay implements Replay {
  readonly #request: ReplayRequest;
  readonly #anonymous: boolean;
  readonly #ports: PassedUpPorts;
  readonly #selector: string;
  readonly #delivery = new Delivery();
  readonly #clock: Clock;
  readonly #askedMs: number;
  /** Of a durable one: position to the id with which upstream wants it acknowledged. */
  readonly #acks = new Map<number, string>();
  #upstream: Upstream | null = null;
  /** As upstream knows it; null: it is not registered now. */
  #id: string | null = null;
  /** Position of the last event that was delivered. */
  #last: number | null = null;
  #begun = false;
  /** Up to here messages came on connections that are gone. */
  #gone = 0;

  /** @throws MusterError `stomp_too_large` */
  constructor(request: ReplayRequest, anonymous: boolean, clock: Clock, ports: PassedUpPorts) {
    this.#request = request;
    this.#anonymous = anonymous;
    this.#clock = clock;
    this.#askedMs = clock.monotonic();
    this.#ports = ports;
    // As narrowed to what the client may follow, which upstream does not know.
    this.#selector = print(request.selector);
    if (bytesOf(this.#selector).length <= FABRIC_LIMITS.selectorBytes) return;
    const limit = `${FABRIC_LIMITS.selectorBytes} bytes, together with the types that you may follow`;
    throw new MusterError('stomp_too_large', { command: 'SUBSCRIBE', what: 'selector', limit });
  }

  /** In a new connection it goes on after the last event; what a durable one has not acknowledged comes again. */
  use(upstream: Upstream | null): void {
    this.#upstream = upstream;
    this.#id = null;
    this.#acks.clear();
    this.#gone = this.#last ?? 0;
    if (upstream !== null) this.#register(upstream);
  }

  message(raw: RawFrame): void {
    const { durable, subscriber } = this.#request;
    if (raw.header('type') === MARKER) {
      return subscriber.missed(Number(raw.header('dropped') ?? 0), raw.header('reason') ?? '');
    }
    const tail = raw.find('destination');
    const position = Number(raw.header('message-id'));
    if (tail < 0 || !Number.isSafeInteger(position)) return;
    const ack = raw.header('ack');
    if (ack !== undefined) this.#acks.set(position, ack);
    this.#last = Math.max(this.#last ?? 0, position);
    this.#delivery.showTail(raw.bytes, raw.spans[3 * tail] as number, raw.end, position);
    subscriber.deliver(this.#delivery, raw.header('redelivered') === 'true');
    // The others must not wait, and nothing is kept here: it is taken up again when the client has read what it has.
    if (durable === null && !subscriber.ready) this.#unregister(false, null);
  }

  refused(error: MusterError): void {
    this.#over(this.#id);
    this.#request.subscriber.fail(error, null);
  }

  room(): void {
    if (this.#upstream !== null && this.#id === null) this.#register(this.#upstream);
  }

  ack(position: number, cumulative: boolean, receipt: string | null): void {
    this.#settle('ACK', position, cumulative, receipt);
  }

  nack(position: number, cumulative: boolean, receipt: string | null): void {
    this.#settle('NACK', position, cumulative, receipt);
  }

  end(forget: boolean, receipt: string | null): void {
    this.#ports.ended();
    this.#unregister(forget, receipt);
  }

  #register(upstream: Upstream): void {
    const { principal, kind, durable, receipt } = this.#request;
    const first = !this.#begun;
    this.#begun = true;
    const id = this.#ports.register();
    this.#id = id;
    const headers: Headers = [
      ['id', id],
      ['destination', EVENTS_DESTINATION],
      ...(this.#anonymous
        ? []
        : ([
            ['on-behalf', principal],
            ['on-behalf-kind', kind],
          ] as const)),
      ['selector', this.#selector],
      ...this.#place(first),
      // Acknowledged by position, whatever way the client has chosen. What is not durable is not acknowledged upstream.
      ...(durable === null
        ? []
        : ([
            ['durable', durable],
            ['ack', 'client-individual'],
          ] as const)),
      ['receipt', this.#expect(upstream, first ? receipt : null, () => this.#over(id))],
    ];
    upstream.sendFrame(frame('SUBSCRIBE', headers));
  }

  /** Upstream has no subscription of that id any more. */
  #over(id: string | null): void {
    if (id === null) return;
    this.#ports.unregister(id);
    if (this.#id === id) this.#id = null;
  }

  #unregister(forget: boolean, receipt: string | null): void {
    const id = this.#id;
    const upstream = this.#upstream;
    this.#id = null;
    if (id === null || upstream === null) {
      if (receipt !== null) this.#request.subscriber.fail(notConnected(), receipt);
      return;
    }
    this.#ports.unregister(id);
    const headers: Headers = [
      ['id', id],
      ...(forget ? [['durable', this.#request.durable ?? ''] as const] : []),
      ['receipt', this.#expect(upstream, receipt)],
    ];
    upstream.sendFrame(frame('UNSUBSCRIBE', headers));
  }

  /** From where. Upstream knows how far a durable subscription is, once it has begun. */
  #place(first: boolean): Headers {
    const { durable, fromText } = this.#request;
    if (durable === null && this.#last !== null) return [['from', String(this.#last)]];
    if (fromText === null || (durable !== null && !first)) return [];
    return [['from', first ? fromText : stillAgo(fromText, this.#clock.monotonic() - this.#askedMs)]];
  }

  #settle(command: 'ACK' | 'NACK', position: number, cumulative: boolean, receipt: string | null): void {
    const { durable, subscriber } = this.#request;
    if (durable === null) {
      if (receipt !== null) subscriber.receipt(receipt);
      return;
    }
    const meant = [...this.#acks].filter(([each]) => (cumulative ? each <= position : each === position));
    for (const [each] of meant) this.#acks.delete(each);
    const upstream = this.#upstream;
    const known = meant.length > 0 || position > this.#gone;
    if (upstream === null || !known) {
      // The connection it came on is gone, so that it comes again: nothing was settled.
      if (receipt !== null) subscriber.fail(notConnected(), receipt);
      return;
    }
    // It may be repeated, as at the root.
    if (meant.length === 0 && receipt !== null) subscriber.receipt(receipt);
    meant.forEach(([, ack], index) => {
      const last = index === meant.length - 1;
      const asked: Headers = last && receipt !== null ? [['receipt', this.#expect(upstream, receipt)]] : [];
      upstream.sendFrame(frame(command, [['id', ack], ...asked]));
    });
  }

  /**
   * Answers the id of a receipt; when it comes the client gets its own.
   * @param refused Called before the client is told.
   */
  #expect(upstream: Upstream, receipt: string | null, refused = () => {}): string {
    const { subscriber } = this.#request;
    return upstream.expect({
      message: false,
      answered: () => receipt !== null && subscriber.receipt(receipt),
      refused: (error) => {
        refused();
        subscriber.fail(error, receipt);
      },
      // Without a receipt nobody waits: it is registered again, or comes again.
      failed: (error) => receipt !== null && subscriber.fail(error, receipt),
    });
  }
}

function notConnected(): MusterError {
  return new MusterError('upstream_failed', { reason: 'it is not connected' });
}
