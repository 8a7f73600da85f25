import { MusterError } from '../../errors.js';
import type { Origin } from '../../event/event.js';
import { EVENTS_DESTINATION, restOf } from '../../event/tail.js';
import { FABRIC_LIMITS } from '../../limits.js';
import type { Publication, Publisher } from '../../session/broker.js';
import { allocate, bytesOf, copyInto } from '../../stomp/bytes.js';
import { headerLines } from '../../stomp/encode.js';
import type { RawFrame } from '../../stomp/raw-frame.js';
import type { ReceiptHandler } from './receipts.js';
import type { Upstream } from './upstream.js';

/** What became of a publication: confirmed (with the id of a future event), or not published. */
type Outcome = { readonly scheduled: string | null } | { readonly error: MusterError };

/** An event that was or will be sent upstream and is not confirmed: takes the answer of upstream. */
class InFlightEvent implements ReceiptHandler {
  readonly isEvent = true;
  readonly publication: Publication;
  /** Null: upstream has not answered yet. */
  outcome: Outcome | null = null;
  readonly #settle: () => void;

  constructor(publication: Publication, settle: () => void) {
    this.publication = publication;
    this.#settle = settle;
  }

  answered(receipt: RawFrame): void {
    const scheduled = receipt.header('scheduled');
    this.#end(scheduled === undefined ? CONFIRMED : { scheduled });
  }

  refused(error: MusterError): void {
    this.#end({ error });
  }

  failed(error: MusterError): void {
    this.#end({ error });
  }

  #end(outcome: Outcome): void {
    this.outcome = outcome;
    this.#settle();
  }
}

const CONFIRMED: Outcome = { scheduled: null };

/** How every SEND begins, up to the id of its receipt. */
const SEND = bytesOf(`SEND\ndestination:${EVENTS_DESTINATION}\nreceipt:`);
const LF = 10;
const NOTHING = new Uint8Array(0);
/** Most bytes of a SEND besides the event and the name of its publisher: ids, times, lengths. */
const MOST_BESIDES = SEND.length + 128;

export interface UpstreamPublisherPorts {
  /** Runs work after this turn of the loop: `setImmediate`. */
  defer(work: () => void): void;
  /** An event could not be sent upstream. */
  failed(reason: string): void;
}

/**
 * Sends upstream what clients publish: every event (B-5), each once, in the order in which they came, in one
 * write for each turn of the event loop. Upstream confirms an event when the root has stored it; then its publisher is told.
 */
export class UpstreamPublisher {
  readonly #ports: UpstreamPublisherPorts;
  readonly #anonymous: boolean;
  #upstream: Upstream | null = null;
  /** Events for the next write. */
  #next: InFlightEvent[] = [];
  /** Events that were sent, in order, from `#first` on. Publishers are answered in that order, too. */
  #sent: InFlightEvent[] = [];
  #first = 0;
  #bytes = 0;
  #confirmed = 0;
  #named: { readonly origin: Origin | null; readonly lines: Uint8Array } = { origin: null, lines: NOTHING };
  readonly #paused = new Set<Publisher>();

  /** @param anonymous Publishers are not named to upstream. */
  constructor(anonymous: boolean, ports: UpstreamPublisherPorts) {
    this.#anonymous = anonymous;
    this.#ports = ports;
  }

  /** Events that are not confirmed. */
  get size(): number {
    return this.#next.length + this.#sent.length - this.#first;
  }

  /** Events that upstream has confirmed, ever. */
  get confirmed(): number {
    return this.#confirmed;
  }

  /** The connection to send on. Null: there is none, and publishing fails at once (F4). */
  use(upstream: Upstream | null): void {
    this.#upstream = upstream;
  }

  add(publication: Publication): void {
    this.#next.push(new InFlightEvent(publication, this.#settle));
    this.#bytes += sizeOf(publication);
    if (this.#next.length === 1) this.#ports.defer(() => this.#send());
    const { publisher } = publication;
    if (!this.#full || this.#paused.has(publisher)) return;
    this.#paused.add(publisher);
    publisher.pause();
  }

  get #full(): boolean {
    return this.#bytes > FABRIC_LIMITS.inFlightBytes || this.size > FABRIC_LIMITS.inFlightEvents;
  }

  #send(): void {
    const events = this.#next;
    this.#next = [];
    for (const one of events) {
      if (publisherHasGivenUp(one.publication)) one.outcome = failure('the relay below has hung up');
      else if (this.#upstream === null) one.outcome = failure('it is not connected');
      this.#sent.push(one);
    }
    const wanted = events.filter(({ outcome }) => outcome === null);
    if (this.#upstream !== null && wanted.length > 0) this.#sendUp(this.#upstream, wanted);
    this.#settle();
    if (this.#upstream === null) this.#ports.failed('it is not connected');
  }

  #sendUp(upstream: Upstream, events: readonly InFlightEvent[]): void {
    const receipts = events.map((one) => upstream.expect(one));
    upstream.send(this.#frames(events, receipts));
  }

  /** Answers publishers in order, up to the first event that upstream has not answered. */
  readonly #settle = (): void => {
    for (;;) {
      const event = this.#sent[this.#first];
      if (event === undefined || event.outcome === null) break;
      this.#first += 1;
      const { publication, outcome } = event;
      this.#bytes -= sizeOf(publication);
      if ('scheduled' in outcome) {
        this.#confirmed += 1;
        publication.publisher.settled(publication, outcome.scheduled);
      } else publication.publisher.failed(publication, outcome.error);
    }
    if (this.#first * 2 > this.#sent.length) {
      this.#sent = this.#sent.slice(this.#first);
      this.#first = 0;
    }
    if (this.#full || this.#paused.size === 0) return;
    const paused = [...this.#paused];
    this.#paused.clear();
    for (const publisher of paused) publisher.resume();
  };

  /** SEND frames, in one piece; attributes and bodies are byte for byte what was received (D-4). */
  #frames(events: readonly InFlightEvent[], receipts: readonly string[]): Uint8Array {
    let most = 0;
    for (const { publication } of events) {
      most += MOST_BESIDES + this.#onBehalfLines(publication).length + sizeOf(publication);
    }
    const made = allocate(most);
    let at = 0;
    events.forEach(({ publication }, index) => {
      const behalf = this.#onBehalfLines(publication);
      const due = dueLine(publication);
      at = copyInto(made, at, SEND, 0, SEND.length);
      at = putAscii(made, at, receipts[index] ?? '');
      made[at++] = LF;
      at = copyInto(made, at, behalf, 0, behalf.length);
      at = copyInto(made, at, due, 0, due.length);
      const { bytes, start, end } = restOf(publication);
      at = copyInto(made, at, bytes, start, end);
    });
    return made.subarray(0, at);
  }

  /** Header lines that name the publisher to upstream. Most are the same as those before. */
  #onBehalfLines({ origin }: Publication): Uint8Array {
    if (this.#anonymous) return NOTHING;
    if (origin !== this.#named.origin) {
      const lines = headerLines([
        ['on-behalf', origin.source],
        ['on-behalf-kind', origin.kind],
      ]);
      this.#named = { origin, lines: bytesOf(lines) };
    }
    return this.#named.lines;
  }
}

/** Header line that only a future event has. */
function dueLine({ due }: Publication): Uint8Array {
  return due === null ? NOTHING : bytesOf(`at:${due}\n`);
}

function putAscii(into: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < text.length; index++) into[at + index] = text.charCodeAt(index);
  return at + text.length;
}

/**
 * a relay that has hung up has told its clients that publishing failed, so the event may not be stored any more.
 */
function publisherHasGivenUp({ publisher }: Publication): boolean {
  return publisher.gone && publisher.access.relay;
}

function failure(reason: string): Outcome {
  return { error: new MusterError('upstream_failed', { reason }) };
}

/** Size of attributes and body, in bytes. */
export function sizeOf({ linesStart, linesEnd, bodyStart, bodyEnd }: Publication): number {
  return linesEnd - linesStart + bodyEnd - bodyStart;
}
