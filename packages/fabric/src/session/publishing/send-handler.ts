import { MusterError } from '../../errors.js';
import { grantee } from '../../event/access.js';
import { newEventOf, type Origin, originOf } from '../../event/event.js';
import { isOwnType, OWN_TYPES } from '../../event/own-types.js';
import { EVENTS_DESTINATION } from '../../event/tail.js';
import { FABRIC_LIMITS } from '../../limits.js';
import { HOLD, RELEASE } from '../../protocol/hold.js';
import { parseAt } from '../../protocol/replay-start.js';
import { copyOf } from '../../stomp/bytes.js';
import { EMPTY_BODY } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import type { Publication, Publisher } from '../broker.js';
import { checkOnBehalf, onBehalfKind } from '../on-behalf.js';
import type { Transactions } from '../transactions.js';
import { HeaderOffsets } from './header-offsets.js';
import { PublishRights } from './publish-rights.js';
import { isType, isValue, SendHeaderScan } from './send-header-scan.js';

export interface SendHandlerPorts {
  readonly publisher: Publisher;
  readonly transactions: Transactions;
  /** Of type, attributes and body. */
  readonly eventBytes: number;
  publish(publication: Publication): void;
  receipt(id: string): void;
  /** SENDs of relays: to `/muster/login`, `/muster/hold` and `/muster/release`. */
  login(raw: RawFrame): void;
  hold(raw: RawFrame): void;
  release(raw: RawFrame): void;
}

export const LOGIN_DESTINATION = '/muster/login';

/** Origins that are remembered for a relay: one for each of its clients that has published lately. */
const KNOWN_ORIGINS = 10_000;

const scan = new SendHeaderScan();

/**
 * Handles the SENDs of one session: checks them, and makes events of them without decoding attributes or body (D-4).
 */
export class SendHandler {
  readonly #ports: SendHandlerPorts;
  readonly #rights: PublishRights;
  readonly #origin: Origin;
  readonly #originsOnBehalf = new Map<string, Origin>();
  /** The one used last, if its name is ASCII without escapes, so that it can be compared with bytes. */
  #latestOnBehalf: Origin | null = null;
  /** The received bytes being read. */
  #chunk: Uint8Array = EMPTY_BODY;
  readonly #offsets = new HeaderOffsets();
  /** The type that was published last, which this login may publish. */
  #permittedType: string | null = null;

  constructor(ports: SendHandlerPorts) {
    const { access } = ports.publisher;
    this.#ports = ports;
    this.#rights = new PublishRights(access.publish);
    this.#origin = originOf(access.org, access.principal, access.kind);
  }

  /** The next frames lie in this chunk, whose bytes may be kept, or in the parser's own memory, which is used again. */
  readingFrom(chunk: Uint8Array): void {
    this.#chunk = chunk;
  }

  /** @throws MusterError for whatever is wrong with it. */
  send(raw: RawFrame): void {
    scan.read(raw);
    if (scan.destination < 0) throw new MusterError('stomp_missing_header', { command: 'SEND', header: 'destination' });
    if (!isValue(raw, scan.destination, EVENTS_DESTINATION)) {
      const destination = raw.valueOf(scan.destination);
      if (destination === LOGIN_DESTINATION) return this.#ports.login(raw);
      if (destination === HOLD) return this.#ports.hold(raw);
      if (destination === RELEASE) return this.#ports.release(raw);
      throw new MusterError('stomp_destination', { command: 'SEND', destination });
    }
    this.#check(raw);
    const origin = scan.onBehalf < 0 ? this.#origin : this.#originOnBehalf(raw);
    const receipt = scan.receipt < 0 ? null : raw.valueOf(scan.receipt);
    const due = scan.at < 0 ? null : at(raw.valueOf(scan.at));
    if (scan.transaction >= 0) this.#addToTransaction(raw, origin, due, receipt);
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
    const known = this.#permittedType !== null && isValue(raw, scan.type, this.#permittedType);
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
    if (!this.#rights.allow(type)) throw publishDenied(this.#origin, type);
    this.#permittedType = type;
  }

  #publication(raw: RawFrame, origin: Origin, due: number | null, receipt: string | null): Publication {
    const { publisher } = this.#ports;
    if (!scan.contiguous) {
      const body = raw.bytes.subarray(raw.bodyStart, raw.bodyEnd);
      return { publisher, due, receipt, ...newEventOf(origin, scan.lines(raw), body) };
    }
    // Received chunks may be kept; the parser's own memory is used again.
    const kept = raw.bytes === this.#chunk;
    const shift = kept ? 0 : raw.headStart;
    const plain = raw.ascii && !raw.escaped;
    if (plain) this.#offsets.add(raw, scan.first, scan.attributes, shift);
    return {
      origin,
      bytes: kept ? raw.bytes : copyOf(raw.bytes, raw.headStart, raw.end),
      linesStart: scan.linesStart - shift,
      linesEnd: scan.linesEnd - shift,
      bodyStart: raw.bodyStart - shift,
      bodyEnd: raw.bodyEnd - shift,
      tailEnd: scan.isTail(raw) ? raw.end - shift : undefined,
      headerOffsets: plain ? this.#offsets.offsets : undefined,
      headerOffsetsStart: this.#offsets.start,
      headerOffsetsEnd: this.#offsets.end,
      publisher,
      due,
      receipt,
    };
  }

  /**
   * Copies the event, which may wait for long. The receipt is sent at once: it says that the event waits for COMMIT.
   */
  #addToTransaction(raw: RawFrame, origin: Origin, due: number | null, receipt: string | null): void {
    const { publisher, transactions, publish } = this.#ports;
    const event = newEventOf(origin, scan.lines(raw), raw.bytes.subarray(raw.bodyStart, raw.bodyEnd));
    transactions.add('SEND', raw.valueOf(scan.transaction), (committed) =>
      publish({ ...event, publisher, due, receipt: committed }),
    );
    if (receipt !== null) this.#ports.receipt(receipt);
  }

  /** The origin of the client that a relay speaks for (`on-behalf`, `on-behalf-kind`). */
  #originOnBehalf(raw: RawFrame): Origin {
    // Most are of the same client as the one before.
    if (this.#latestOnBehalf !== null && isOnBehalfOf(raw, this.#latestOnBehalf)) return this.#latestOnBehalf;
    const { access } = this.#ports.publisher;
    const principal = raw.valueOf(scan.onBehalf);
    checkOnBehalf('SEND', principal, access.org, access.relay);
    const kind = onBehalfKind('SEND', scan.onBehalfKind < 0 ? undefined : raw.valueOf(scan.onBehalfKind));
    const key = `${kind} ${principal}`;
    let origin = this.#originsOnBehalf.get(key);
    if (origin === undefined) {
      if (this.#originsOnBehalf.size >= KNOWN_ORIGINS) this.#originsOnBehalf.clear();
      origin = originOf(access.org, principal, kind);
      this.#originsOnBehalf.set(key, origin);
    }
    this.#latestOnBehalf = raw.ascii && !raw.escaped ? origin : null;
    return origin;
  }
}

function isOnBehalfOf(raw: RawFrame, { source, kind }: Origin): boolean {
  return isValue(raw, scan.onBehalf, source) && scan.onBehalfKind >= 0 && isValue(raw, scan.onBehalfKind, kind);
}

function at(text: string): number {
  const atMs = parseAt(text);
  if (atMs !== null) return atMs;
  const reason = 'must be a time with its zone, such as 2026-11-20T12:00:00Z, or milliseconds since 1970';
  throw new MusterError('stomp_header_value', { command: 'SEND', header: 'at', reason });
}

function publishDenied({ source: principal, kind }: Origin, type: string): MusterError {
  const hint = isOwnType(type)
    ? `Choose another type: nobody publishes what Muster itself tells (${OWN_TYPES.join(', ')}).`
    : `Ask an admin for it: \`muster event access grant publish '${type}' ${grantee(principal, kind)}\`.`;
  return new MusterError('event_publish_denied', { principal, type, hint });
}
