import { MusterError } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';
import { isOwnType, OWN_TYPES } from '../own-types.js';
import { newEventOf, type Origin, originOf } from '../root/event.js';
import type { Due } from '../root/ports.js';
import { EVENTS_DESTINATION } from '../root/stamp.js';
import { copyOf } from '../stomp/bytes.js';
import { EMPTY_BODY } from '../stomp/frame.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import { parseAt } from './from.js';
import { PublishRights } from './narrow.js';
import { checkOnBehalf, onBehalfKind } from './on-behalf.js';
import type { Publication, Publisher } from './ports.js';
import { isType, isValue, SendScan } from './send-scan.js';
import { Spans } from './spans.js';
import type { Transactions } from './transactions.js';

export interface PublishingPorts {
  readonly publisher: Publisher;
  readonly transactions: Transactions;
  /** Of type, attributes and body. */
  readonly eventBytes: number;
  publish(publication: Publication): void;
  receipt(id: string): void;
  /** A SEND to `/muster/login`, of a relay. */
  login(raw: RawFrame): void;
}

export const LOGIN_DESTINATION = '/muster/login';

/** Origins kept for a relay: one for each of its clients that published lately. */
const KNOWN_ORIGINS = 10_000;

const scan = new SendScan();

/** Takes the SENDs of one session: checks them, and finds attributes and body in them without decoding (D-4). */
export class Publishing {
  readonly #ports: PublishingPorts;
  readonly #rights: PublishRights;
  readonly #origin: Origin;
  readonly #others = new Map<string, Origin>();
  /** One of them whose name is ASCII without escapes, as on the wire. */
  #latest: Origin | null = null;
  /** The received bytes being read. */
  #chunk: Uint8Array = EMPTY_BODY;
  readonly #spans = new Spans();
  /** A type that may be published. */
  #type: string | null = null;

  constructor(ports: PublishingPorts) {
    const { access } = ports.publisher;
    this.#ports = ports;
    this.#rights = new PublishRights(access.publish);
    this.#origin = originOf(access.org, access.principal);
  }

  /** Frames that are shown next lie there, or in memory of the parser. */
  reading(chunk: Uint8Array): void {
    this.#chunk = chunk;
  }

  /** @throws MusterError for whatever is wrong with it. */
  send(raw: RawFrame): void {
    scan.read(raw);
    if (scan.destination < 0) throw new MusterError('stomp_missing_header', { command: 'SEND', header: 'destination' });
    if (!isValue(raw, scan.destination, EVENTS_DESTINATION)) {
      const destination = raw.valueOf(scan.destination);
      if (destination === LOGIN_DESTINATION) return this.#ports.login(raw);
      throw new MusterError('stomp_destination', { command: 'SEND', destination });
    }
    this.#check(raw);
    const origin = scan.onBehalf < 0 ? this.#origin : this.#other(raw);
    const receipt = scan.receipt < 0 ? null : raw.valueOf(scan.receipt);
    const due = scan.at < 0 ? null : this.#due(raw);
    if (scan.transaction >= 0) this.#hold(raw, origin, due, receipt);
    else this.#ports.publish(this.#publication(raw, origin, due, receipt));
  }

  #check(raw: RawFrame): void {
    if (scan.reserved >= 0) throw new MusterError('event_reserved', { name: raw.nameOf(scan.reserved) });
    const { relay } = this.#ports.publisher.access;
    if (scan.onBehalfKind >= 0 && !relay) {
      throw new MusterError('stomp_relays_only', { what: "the header 'on-behalf-kind' of SEND" });
    }
    if (scan.type < 0) throw new MusterError('stomp_missing_header', { command: 'SEND', header: 'type' });
    // Most publish the same type again and again.
    const known = this.#type !== null && isValue(raw, scan.type, this.#type);
    if (!known && !isType(raw, scan.type)) throw new MusterError('event_type', { type: raw.valueOf(scan.type) });
    if (scan.attributes > FABRIC_LIMITS.attributes) {
      const limit = `${FABRIC_LIMITS.attributes} attributes`;
      throw new MusterError('stomp_too_large', { command: 'SEND', what: 'number of attributes', limit });
    }
    const size = scan.linesSize + raw.bodyEnd - raw.bodyStart;
    const limit = this.#ports.eventBytes;
    if (size > limit) throw new MusterError('event_too_large', { size, limit });
    if (known) return;
    const type = raw.valueOf(scan.type);
    if (!this.#rights.allow(type)) throw publishDenied(this.#origin.source, type);
    this.#type = type;
  }

  #publication(raw: RawFrame, origin: Origin, due: Due | null, receipt: string | null): Publication {
    const { publisher } = this.#ports;
    if (!scan.contiguous) {
      const body = raw.bytes.subarray(raw.bodyStart, raw.bodyEnd);
      return { ...newEventOf(origin, scan.lines(raw), body), publisher, due, receipt };
    }
    // What was received may be kept; the parser's memory is used again.
    const kept = raw.bytes === this.#chunk;
    const shift = kept ? 0 : raw.headStart;
    const plain = raw.ascii && !raw.escaped;
    if (plain) this.#spans.add(raw, scan.first, scan.attributes, shift);
    return {
      origin,
      bytes: kept ? raw.bytes : copyOf(raw.bytes, raw.headStart, raw.end),
      linesStart: scan.linesStart - shift,
      linesEnd: scan.linesEnd - shift,
      bodyStart: raw.bodyStart - shift,
      bodyEnd: raw.bodyEnd - shift,
      tailEnd: scan.isTail(raw) ? raw.end - shift : undefined,
      spans: plain ? this.#spans.all : undefined,
      spansStart: this.#spans.start,
      spansEnd: this.#spans.end,
      publisher,
      due,
      receipt,
    };
  }

  #due(raw: RawFrame): Due {
    const atMs = at(raw.valueOf(scan.at));
    if (scan.onBehalf < 0) return { atMs, kind: this.#ports.publisher.access.kind };
    const kind = scan.onBehalfKind < 0 ? undefined : raw.valueOf(scan.onBehalfKind);
    return { atMs, kind: onBehalfKind('SEND', kind) };
  }

  /** In memory of its own, as nobody knows for how long. The RECEIPT says that it waits for COMMIT. */
  #hold(raw: RawFrame, origin: Origin, due: Due | null, receipt: string | null): void {
    const { publisher, transactions, publish } = this.#ports;
    const event = newEventOf(origin, scan.lines(raw), raw.bytes.subarray(raw.bodyStart, raw.bodyEnd));
    transactions.hold('SEND', raw.valueOf(scan.transaction), (committed) =>
      publish({ ...event, publisher, due, receipt: committed }),
    );
    if (receipt !== null) this.#ports.receipt(receipt);
  }

  /** Of whom a relay speaks for. */
  #other(raw: RawFrame): Origin {
    // Most are of the same client as the one before.
    if (this.#latest !== null && isValue(raw, scan.onBehalf, this.#latest.source)) return this.#latest;
    const { access } = this.#ports.publisher;
    const principal = raw.valueOf(scan.onBehalf);
    checkOnBehalf('SEND', principal, access.org, access.relay);
    let origin = this.#others.get(principal);
    if (origin === undefined) {
      if (this.#others.size >= KNOWN_ORIGINS) this.#others.clear();
      origin = originOf(access.org, principal);
      this.#others.set(principal, origin);
    }
    this.#latest = raw.ascii && !raw.escaped ? origin : null;
    return origin;
  }
}

function at(text: string): number {
  const atMs = parseAt(text);
  if (atMs !== null) return atMs;
  const reason = 'must be a time with its zone, such as 2026-11-20T12:00:00Z, or milliseconds since 1970';
  throw new MusterError('stomp_header_value', { command: 'SEND', header: 'at', reason });
}

function publishDenied(principal: string, type: string): MusterError {
  const hint = isOwnType(type)
    ? `Choose another type: nobody publishes what Muster itself tells (${OWN_TYPES.join(', ')}).`
    : `Ask an admin for it: \`muster event access grant publish '${type}'\`.`;
  return new MusterError('event_publish_denied', { principal, type, hint });
}
