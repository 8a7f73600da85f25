import type { Clock } from '@muster/base';
import { print } from '@muster/selector';
import { MusterError } from '../../errors.js';
import { Delivery } from '../../event/delivery.js';
import { EVENTS_DESTINATION } from '../../event/tail.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { HOLD, RELEASE } from '../../protocol/hold.js';
import { laterAgo } from '../../protocol/replay-start.js';
import type { Replay, ReplayRequest } from '../../session/broker.js';
import { bytesOf } from '../../stomp/bytes.js';
import { frame, type Headers } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import type { Upstream } from '../upstream/upstream.js';

/** Type of the root's marker: events are missing here. */
const MARKER = 'fabric.dropped';

export interface ForwardedReplayPorts {
  /** @returns a new id of a subscription at upstream, whose MESSAGEs come here from now on. */
  register(): string;
  unregister(id: string): void;
  /** The client has unsubscribed, or its session has ended. */
  ended(): void;
}

/** A message that came and is not acknowledged. */
interface Unsettled {
  /** The id with which upstream wants it acknowledged. */
  readonly ack: string;
  /** How often it came. */
  readonly deliveries: number;
}

/**
 * One subscription that upstream serves for a client. A slow client must not hold up the others, and a relay keeps no
 * events: when the client has enough to read, the subscription is held at upstream, what comes until that is confirmed
 * is dropped, and upstream delivers it again when the client has room.
 */
export class ForwardedReplay implements Replay {
  readonly #request: ReplayRequest;
  readonly #anonymous: boolean;
  readonly #ports: ForwardedReplayPorts;
  readonly #selector: string;
  readonly #delivery = new Delivery();
  readonly #clock: Clock;
  readonly #askedMs: number;
  /** Of a durable one: for each position that may still be acknowledged, how upstream wants it acknowledged. */
  readonly #acks = new Map<number, Unsettled>();
  /** The id that was acknowledged upstream last, or refused so often that it is given up. */
  #lastSettled: string | null = null;
  #upstream: Upstream | null = null;
  /** Id of the subscription at upstream; null: it is not subscribed there now. */
  #id: string | null = null;
  /** Position of the last event that was delivered. */
  #last: number | null = null;
  #held = false;
  /** How many times upstream was told to hold it and has not confirmed that. */
  #unconfirmedHolds = 0;
  #sentBefore = false;
  /** Why upstream has ended it: what it refused first. Later frames it refuses as they are of no subscription. */
  #refusal: MusterError | null = null;
  /** Upstream has confirmed the durable subscription. */
  #known = false;
  /** Position up to which events came that are to come again: on connections that are gone, or taken back. */
  #lostThrough = 0;

  /** @throws MusterError `stomp_too_large` */
  constructor(request: ReplayRequest, anonymous: boolean, clock: Clock, ports: ForwardedReplayPorts) {
    this.#request = request;
    this.#anonymous = anonymous;
    this.#clock = clock;
    this.#askedMs = clock.monotonic();
    this.#ports = ports;
    // Restricted to what the client may follow: upstream does not know its rights.
    this.#selector = print(request.selector);
    if (bytesOf(this.#selector).length <= FABRIC_LIMITS.selectorBytes) return;
    const limit = `${FABRIC_LIMITS.selectorBytes} bytes, together with the types that you may follow`;
    throw new MusterError('stomp_too_large', { command: 'SUBSCRIBE', what: 'selector', limit });
  }

  /** On a new connection it goes on after the last event. Events that a durable one has not acknowledged come again. */
  use(upstream: Upstream | null): void {
    this.#upstream = upstream;
    this.#id = null;
    this.#acks.clear();
    this.#lastSettled = null;
    this.#held = false;
    this.#unconfirmedHolds = 0;
    this.#refusal = null;
    this.#lostThrough = Math.max(this.#lostThrough, this.#last ?? 0);
    if (upstream !== null) this.#register(upstream);
  }

  message(raw: RawFrame): void {
    const { subscriber } = this.#request;
    if (raw.header('type') === MARKER) {
      return subscriber.missed(Number(raw.header('dropped') ?? 0), raw.header('reason') ?? '');
    }
    const tail = raw.find('destination');
    const position = Number(raw.header('message-id'));
    if (tail < 0 || !Number.isSafeInteger(position)) return;
    const again = raw.header('redelivered') === 'true';
    // What the client has refused it has read before: there is room for that.
    if (!again && !this.#hasRoom) {
      if (this.#unconfirmedHolds === 0) this.takeBack(position - 1, null);
      return;
    }
    const ack = raw.header('ack');
    const deliveries = (this.#acks.get(position)?.deliveries ?? 0) + 1;
    if (ack !== undefined) this.#acks.set(position, { ack, deliveries });
    this.#last = Math.max(this.#last ?? 0, position);
    this.#delivery.showTail(raw.bytes, raw.headerOffsets[3 * tail] as number, raw.end, position);
    subscriber.deliver(this.#delivery, again);
  }

  refused(error: MusterError): void {
    this.#endedUpstream(this.#id);
    this.#fail(error, null);
  }

  resume(): void {
    if (!this.#held || !this.#hasRoom) return;
    this.#held = false;
    this.#upstream?.sendFrame(
      frame('SEND', [
        ['destination', RELEASE],
        ['subscription', this.#id ?? ''],
      ]),
    );
  }

  takeBack(after: number, receipt: string | null): void {
    const { subscriber } = this.#request;
    const upstream = this.#upstream;
    const id = this.#id;
    if (this.#last !== null && this.#last > after) {
      this.#lostThrough = Math.max(this.#lostThrough, this.#last);
      this.#last = after;
    }
    for (const position of [...this.#acks.keys()]) if (position > after) this.#acks.delete(position);
    const confirm = (): void => {
      if (receipt !== null) subscriber.receipt(receipt);
    };
    // With a new connection it begins after what the client has.
    if (upstream === null || id === null) return confirm();
    this.#held = true;
    this.#unconfirmedHolds += 1;
    const asked = upstream.expect({
      isEvent: false,
      answered: () => {
        confirm();
        if (this.#id !== id) return;
        this.#unconfirmedHolds -= 1;
        this.resume();
      },
      refused: (error) => {
        this.#endedUpstream(id);
        this.#fail(error, receipt);
      },
      failed: confirm,
    });
    upstream.sendFrame(
      frame('SEND', [
        ['destination', HOLD],
        ['subscription', id],
        ['after', String(after)],
        ['receipt', asked],
      ]),
    );
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

  get #hasRoom(): boolean {
    return this.#unconfirmedHolds === 0 && this.#request.subscriber.ready;
  }

  #register(upstream: Upstream): void {
    const { principal, kind, durable, receipt } = this.#request;
    const first = !this.#sentBefore;
    this.#sentBefore = true;
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
      ...this.#fromHeader(first),
      // Acknowledged by position, whatever way the client has chosen. What is not durable is not acknowledged upstream.
      ...(durable === null
        ? []
        : ([
            ['durable', durable],
            ['ack', 'client-individual'],
          ] as const)),
      [
        'receipt',
        this.#addReceipt(upstream, first ? receipt : null, {
          answered: () => {
            this.#known = true;
          },
          refused: () => this.#endedUpstream(id),
        }),
      ],
    ];
    upstream.sendFrame(frame('SUBSCRIBE', headers));
  }

  /** Upstream has refused one of its frames. */
  #fail(error: MusterError, receipt: string | null): void {
    this.#refusal ??= error;
    this.#request.subscriber.fail(this.#refusal, receipt);
  }

  /** Upstream has ended the subscription of that id. */
  #endedUpstream(id: string | null): void {
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
      ['receipt', this.#addReceipt(upstream, receipt)],
    ];
    upstream.sendFrame(frame('UNSUBSCRIBE', headers));
  }

  /** The header `from`. Of a durable subscription that upstream has confirmed, it knows where to go on. */
  #fromHeader(first: boolean): Headers {
    const { durable, fromText } = this.#request;
    if (durable === null && this.#last !== null) return [['from', String(this.#last)]];
    if (fromText === null || (durable !== null && this.#known)) return [];
    return [['from', first ? fromText : laterAgo(fromText, this.#clock.monotonic() - this.#askedMs)]];
  }

  #settle(command: 'ACK' | 'NACK', position: number, cumulative: boolean, receipt: string | null): void {
    const { durable, subscriber } = this.#request;
    if (durable === null) {
      if (receipt !== null) subscriber.receipt(receipt);
      return;
    }
    const upstream = this.#upstream;
    if (upstream === null || !(this.#acks.has(position) || position > this.#lostThrough)) {
      // The connection that the event came on is gone, so that it will come again: nothing is acknowledged.
      if (receipt !== null) subscriber.fail(notConnected(), receipt);
      return;
    }
    const meant = [...this.#acks].filter(([each]) => (cumulative ? each <= position : each === position));
    // In order: the one that the client named goes last and asks for the receipt. A relay above may have forgotten
    // another one, and would answer for that at once.
    meant.sort(([one], [other]) => one - other);
    for (const [each, { ack, deliveries }] of meant) {
      // What was refused may be acknowledged all the same, until it is given up.
      if (command === 'NACK' && deliveries < FABRIC_LIMITS.redeliveries) continue;
      this.#acks.delete(each);
      this.#lastSettled = ack;
    }
    if (meant.length === 0) return this.#confirm(upstream, receipt);
    meant.forEach(([, { ack }], index) => {
      const last = index === meant.length - 1;
      const asked: Headers = last && receipt !== null ? [['receipt', this.#addReceipt(upstream, receipt)]] : [];
      upstream.sendFrame(frame(command, [['id', ack], ...asked]));
    });
  }

  /** What was settled before is settled again: that is confirmed when upstream has saved whatever came before. */
  #confirm(upstream: Upstream, receipt: string | null): void {
    if (receipt === null) return;
    if (this.#lastSettled === null) return this.#request.subscriber.receipt(receipt);
    const headers: Headers = [
      ['id', this.#lastSettled],
      ['receipt', this.#addReceipt(upstream, receipt)],
    ];
    // To acknowledge it once more changes nothing.
    upstream.sendFrame(frame('ACK', headers));
  }

  /**
   * Answers the id of a receipt; when it comes the client gets its own.
   * @param before Called before the client is told.
   */
  #addReceipt(
    upstream: Upstream,
    receipt: string | null,
    before: { readonly answered?: () => void; readonly refused?: () => void } = {},
  ): string {
    const { subscriber } = this.#request;
    return upstream.expect({
      isEvent: false,
      answered: () => {
        before.answered?.();
        if (receipt !== null) subscriber.receipt(receipt);
      },
      refused: (error) => {
        before.refused?.();
        this.#fail(error, receipt);
      },
      // Without a receipt nobody waits: it is registered again, or comes again.
      failed: (error) => receipt !== null && subscriber.fail(error, receipt),
    });
  }
}

function notConnected(): MusterError {
  return new MusterError('upstream_failed', { reason: 'it is not connected' });
}
