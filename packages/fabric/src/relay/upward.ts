import { MusterError } from '@muster/wire';
import { FABRIC_LIMITS } from '../limits.js';
import { EVENTS_DESTINATION } from '../root/stamp.js';
import type { Publication, Publisher } from '../session/ports.js';
import { allocate, bytesOf } from '../stomp/bytes.js';
import { headerLine } from '../stomp/encode.js';
import type { Upstream } from './upstream.js';

/** What became of a publication: confirmed (with the id of a future event), or not published. */
type Outcome = { readonly scheduled: string | null } | { readonly error: MusterError };

interface Rising {
  readonly publication: Publication;
  outcome: Outcome | null;
}

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
    this.#next.push({ publication, outcome: null });
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
    const receipts = rising.map((one) =>
      upstream.expect({
        message: true,
        answered: (receipt) => this.#answered(one, { scheduled: receipt.header('scheduled') ?? null }),
        refused: (error) => this.#answered(one, { error }),
        failed: (error) => this.#answered(one, { error }),
      }),
    );
    upstream.send(this.#frames(rising, receipts));
  }

  #answered(one: Rising, outcome: Outcome): void {
    one.outcome = outcome;
    this.#settle();
  }

  /** Answers publishers, as far as all before them are answered. */
  #settle(): void {
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
  }

  /** SEND frames, in one piece; attributes and bodies are byte for byte what was received (D-4). */
  #frames(rising: readonly Rising[], receipts: readonly string[]): Uint8Array {
    const heads = rising.map(({ publication }, index) => bytesOf(this.#head(publication, receipts[index] ?? '')));
    const lengths = rising.map(({ publication: { bodyStart, bodyEnd } }) =>
      bytesOf(`content-length:${bodyEnd - bodyStart}\n\n`),
    );
    let size = 0;
    rising.forEach(({ publication }, index) => {
      size += (heads[index]?.length ?? 0) + (lengths[index]?.length ?? 0) + sizeOf(publication) + 1;
    });
    const made = allocate(size);
    let at = 0;
    const put = (bytes: Uint8Array | undefined) => {
      if (bytes === undefined) return;
      made.set(bytes, at);
      at += bytes.length;
    };
    rising.forEach(({ publication: { bytes, linesStart, linesEnd, bodyStart, bodyEnd } }, index) => {
      put(heads[index]);
      put(bytes.subarray(linesStart, linesEnd));
      put(lengths[index]);
      put(bytes.subarray(bodyStart, bodyEnd));
      made[at++] = 0;
    });
    return made;
  }

  #head({ atMs, origin }: Publication, receipt: string): string {
    const behalf = this.#anonymous ? '' : headerLine('on-behalf', origin.source);
    const due = atMs === null ? '' : `at:${atMs}\n`;
    return `SEND\ndestination:${EVENTS_DESTINATION}\nreceipt:${receipt}\n${behalf}${due}`;
  }
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
