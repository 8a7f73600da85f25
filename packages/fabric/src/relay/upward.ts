import { MusterError } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';
import type { Origin } from '../root/event.js';
import { EVENTS_DESTINATION, restOf } from '../root/stamp.js';
import type { Publication, Publisher } from '../session/ports.js';
import { allocate, bytesOf } from '../stomp/bytes.js';
import { copyInto } from '../stomp/copy.js';
import { headerLine } from '../stomp/encode.js';
import type { RawFrame } from '../stomp/raw-frame.js';
import type { Answer } from './unanswered.js';
import type { Upstream } from './upstream.js';

/** What became of a publication: confirmed (with the id of a future event), or not published. */
type Outcome = { readonly scheduled: string | null } | { readonly error: MusterError };

/** An event on its way up: what upstream answers to it. */
class Rising implements Answer {
  readonly message = true;
  readonly publication: Publication;
  /** Null: it is not known yet. */
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
/** Bytes of a SEND that its event and its publisher's name do not account for: ids, times, lengths. */
const MOST_BESIDES = SEND.length + 128;

export interface UpwardPorts {
  /** Runs work after this turn of the loop: `setImmediate`. */
  defer(work: () => void): void;
  /** A message could not go up. */
  failed(reason: string): void;
}

/**
 * What clients publish, on its way up: every event (B-5), each once, in the order in which they came, in one
 * write a turn. Publishers hear of it when upstream has confirmed, which it does when the root has stored the event.
 */
export class Upward {
  readonly #ports: UpwardPorts;
  readonly #anonymous: boolean;
  #upstream: Upstream | null = null;
  /** For the next write. */
  #next: Rising[] = [];
  /** Sent, in order, from `first` on; one that is not answered holds up the answers to later ones. */
  #sent: Rising[] = [];
  #first = 0;
  #bytes = 0;
  #confirmed = 0;
  #named: { readonly origin: Origin | null; readonly line: Uint8Array } = { origin: null, line: NOTHING };
  readonly #held = new Set<Publisher>();

  /** @param anonymous Publishers are not named to upstream. */
  constructor(anonymous: boolean, ports: UpwardPorts) {
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

  /** Null: there is none, and what is published fails at once (F4). */
  use(upstream: Upstream | null): void {
    this.#upstream = upstream;
  }

  add(publication: Publication): void {
    this.#next.push(new Rising(publication, this.#settle));
    this.#bytes += sizeOf(publication);
    if (this.#next.length === 1) this.#ports.defer(() => this.#send());
    const { publisher } = publication;
    if (!this.#full || this.#held.has(publisher)) return;
    this.#held.add(publisher);
    publisher.hold();
  }

  get #full(): boolean {
    return this.#bytes > FABRIC_LIMITS.upwardBytes || this.size > FABRIC_LIMITS.upwardEvents;
  }

  #send(): void {
    const rising = this.#next;
    this.#next = [];
    for (const one of rising) {
      if (hasGivenUp(one.publication)) one.outcome = failure('the relay below has hung up');
      else if (this.#upstream === null) one.outcome = failure('it is not connected');
      this.#sent.push(one);
    }
    const wanted = rising.filter(({ outcome }) => outcome === null);
    if (this.#upstream !== null && wanted.length > 0) this.#sendUp(this.#upstream, wanted);
    this.#settle();
    if (this.#upstream === null) this.#ports.failed('it is not connected');
  }

  #sendUp(upstream: Upstream, rising: readonly Rising[]): void {
    const receipts = rising.map((one) => upstream.expect(one));
    upstream.send(this.#frames(rising, receipts));
  }

  /** Answers publishers, as far as all before them are answered. */
  readonly #settle = (): void => {
    for (;;) {
      const rising = this.#sent[this.#first];
      if (rising === undefined || rising.outcome === null) break;
      this.#first += 1;
      const { publication, outcome } = rising;
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
    if (this.#full || this.#held.size === 0) return;
    const held = [...this.#held];
    this.#held.clear();
    for (const publisher of held) publisher.release();
  };

  /** SEND frames, in one piece; attributes and bodies are byte for byte what was received (D-4). */
  #frames(rising: readonly Rising[], receipts: readonly string[]): Uint8Array {
    let most = 0;
    for (const { publication } of rising) {
      most += MOST_BESIDES + this.#behalf(publication).length + sizeOf(publication);
    }
    const made = allocate(most);
    let at = 0;
    rising.forEach(({ publication }, index) => {
      const behalf = this.#behalf(publication);
      const due = this.#due(publication);
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

  /** Header lines of a future event. */
  #due({ due }: Publication): Uint8Array {
    if (due === null) return NOTHING;
    const whose = this.#anonymous ? '' : `on-behalf-kind:${due.kind}\n`;
    return bytesOf(`at:${due.atMs}\n${whose}`);
  }

  /** Header line that names the publisher to upstream. Most are the same as the one before. */
  #behalf({ origin }: Publication): Uint8Array {
    if (this.#anonymous) return NOTHING;
    if (origin !== this.#named.origin) {
      this.#named = { origin, line: bytesOf(headerLine('on-behalf', origin.source)) };
    }
    return this.#named.line;
  }
}

function putAscii(into: Uint8Array, at: number, text: string): number {
  for (let index = 0; index < text.length; index++) into[at + index] = text.charCodeAt(index);
  return at + text.length;
}

/** a relay that hung up has told its clients that this failed, so it may not be delivered any more. */
function hasGivenUp({ publisher }: Publication): boolean {
  return publisher.gone && publisher.access.relay;
}

function failure(reason: string): Outcome {
  return { error: new MusterError('upstream_failed', { reason }) };
}

/** Of attributes and body. */
export function sizeOf({ linesStart, linesEnd, bodyStart, bodyEnd }: Publication): number {
  return linesEnd - linesStart + bodyEnd - bodyStart;
}
