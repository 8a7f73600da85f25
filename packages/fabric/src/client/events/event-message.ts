import { textOf } from '../../stomp/bytes.js';
import type { Headers } from '../../stomp/frame.js';
import type { RawFrame } from '../../stomp/raw-frame.js';

/** Headers that are no attributes: of the protocol, or put there by the root. */
const OTHERS = new Set([
  'subscription',
  'destination',
  'message-id',
  'ack',
  'content-length',
  'content-type',
  'org',
  'source',
  'source-kind',
  'time',
  'redelivered',
]);

/** What the objects take, besides their texts. */
const OBJECTS = 512;

/** Sends an acknowledgement; resolves when it is saved. */
export type Acknowledge = (command: 'ACK' | 'NACK', id: string) => Promise<void>;

/** An event as it was delivered to one subscription. */
export class EventMessage {
  /** Position in the log, as text. */
  readonly id: string;
  readonly type: string;
  /** Name of the organization; '' from brokers that know none. */
  readonly org: string;
  /** `ORG/NAME` of who published it. */
  readonly source: string;
  /** What that is the name of: `user`, `node` or `service`; `server` of what Muster itself tells; '' from other brokers. */
  readonly sourceKind: string;
  /** When, in ISO 8601. */
  readonly time: string;
  /** In the order of the wire, the type among them. */
  readonly attributes: Headers;
  readonly contentType: string | undefined;
  /** It was delivered before, and not acknowledged. */
  readonly redelivered: boolean;
  readonly #body: Uint8Array;
  readonly #ack: string | undefined;
  readonly #acknowledge: Acknowledge;

  constructor(raw: RawFrame, acknowledge: Acknowledge) {
    const headers = raw.headers();
    const first = (wanted: string) => headers.find(([name]) => name === wanted)?.[1];
    this.id = first('message-id') ?? '';
    this.type = first('type') ?? '';
    this.org = first('org') ?? '';
    this.source = first('source') ?? '';
    this.sourceKind = first('source-kind') ?? '';
    this.time = first('time') ?? '';
    this.attributes = headers.filter(([name]) => !OTHERS.has(name));
    this.contentType = first('content-type');
    this.redelivered = first('redelivered') === 'true';
    this.#body = raw.body();
    this.#ack = first('ack');
    this.#acknowledge = acknowledge;
  }

  /** Position in the log; null from brokers that keep none, and for markers. */
  get position(): number | null {
    return !this.isMarker && /^\d{1,15}$/.test(this.id) ? Number(this.id) : null;
  }

  /**
   * Not an event but a note from the server that some are missing here: as many as `get('dropped')` says, or, where it
   * says nothing, nobody knows how many, perhaps none. Nobody can publish such a one: every event has a source.
   */
  get isMarker(): boolean {
    return this.type === 'fabric.dropped' && this.source === '';
  }

  /** Bytes of memory, about. */
  get size(): number {
    return this.attributes.reduce(
      (sum, [name, value]) => sum + name.length + value.length,
      OBJECTS + this.#body.length,
    );
  }

  /** Value of the first attribute of that name. */
  get(name: string): string | undefined {
    return this.attributes.find(([each]) => each === name)?.[1];
  }

  body(): Uint8Array {
    return this.#body;
  }

  /** The body as UTF-8. */
  text(): string {
    return textOf(this.#body, 0, this.#body.length);
  }

  /**
   * It is done with (`ack: client`: it and all before it). Resolves when the server has saved that, and at once where
   * nothing is to be acknowledged. Need not be awaited.
   * @throws MusterError `fabric_not_connected`, `fabric_unconfirmed`: it will come again
   */
  ack(): Promise<void> {
    return this.#answer('ACK');
  }

  /** It could not be dealt with: the server delivers it again, a few times. */
  nack(): Promise<void> {
    return this.#answer('NACK');
  }

  #answer(command: 'ACK' | 'NACK'): Promise<void> {
    if (this.#ack === undefined) return Promise.resolve();
    const saved = this.#acknowledge(command, this.#ack);
    saved.catch(() => {});
    return saved;
  }
}
