import { type Accept, type Channel, type ChannelHandlers, FABRIC_LIMITS } from '@muster/fabric';
import type { Happening, Process } from '../timeline.js';
import type { Host, Link, NetworkOptions } from './host.js';

/** Of the network. */
export interface Wires {
  readonly options: NetworkOptions;
  latency(link: Link): number;
  /** That end is no connection any more. */
  over(end: End): void;
}

/** Something on the way to one end of a connection, or arrived there and not read. */
type Parcel =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array; arrived: boolean; held: boolean }
  /** The peer has closed, or is gone. */
  | { readonly kind: 'end' | 'reset'; arrived: boolean; held: boolean };

/** Beyond that a read does not go. */
const READ_BYTES = 65_536;

/**
 * One end of a connection: what the system keeps of it, and the channel its process has. Bytes wait at the sender
 * (`pending`) while as many as the window allows are under way or unread at the receiver.
 */
export class End implements Channel {
  readonly remote: string;
  readonly host: Host;
  readonly process: Process;
  readonly link: Link;
  peer: End = this;
  readonly #network: Wires;
  #handlers: ChannelHandlers | null = null;
  /** Ending: it says nothing more, and waits until what it said is taken. */
  #state: 'open' | 'ending' | 'closed' = 'open';
  #out: Uint8Array[] = [];
  #pending = 0;
  #undrained = false;
  /** Under way to here, or here and unread, in order. */
  #in: Parcel[] = [];
  #inBytes = 0;
  #lastAt = 0;
  /** When something was read last; null: never. */
  #readMs: number | null = null;
  #wrote = false;
  #paused = false;
  /** A slow reader reads on then. */
  #nextRead: Happening | null = null;

  constructor(network: Wires, host: Host, process: Process, link: Link, remote: string) {
    this.#network = network;
    this.host = host;
    this.process = process;
    this.link = link;
    this.remote = remote;
  }

  get pending(): number {
    return this.#pending;
  }

  /** For faults and checks: it is still a connection. */
  get open(): boolean {
    return this.#state !== 'closed';
  }

  /** Since when its process, which reads and has both spoken and been spoken to, has heard nothing. Null: it is not so. */
  get silentSinceMs(): number | null {
    const reads = this.#state === 'open' && !this.#paused && !this.#in.some(({ arrived }) => arrived);
    if (!reads || !this.#wrote || this.#readMs === null) return null;
    return Math.max(this.#readMs, this.process.frozenUntil);
  }

  // --- the channel

  write(bytes: Uint8Array): void {
    if (this.#state !== 'open' || !this.process.alive || bytes.length === 0) return;
    this.#wrote = true;
    this.#out.push(bytes);
    this.#pending += bytes.length;
    this.#send();
    if (this.#pending > 0) this.#undrained = true;
  }

  pause(): void {
    this.#paused = true;
  }

  resume(): void {
    if (!this.#paused) return;
    this.#paused = false;
    if (this.#in.some(({ arrived }) => arrived)) this.#later(0, () => this.#read());
  }

  end(): void {
    if (this.#state !== 'open' || !this.process.alive) return;
    this.#state = 'ending';
    this.#later(FABRIC_LIMITS.lingerMs, () => {
      if (this.#state === 'ending') this.destroy();
    });
    this.#send();
    // What still comes is read and dropped.
    this.resume();
  }

  destroy(): void {
    if (this.#state === 'closed' || !this.process.alive) return;
    this.#tellPeer('reset');
    this.#close(null);
  }

  // --- what the network does with it

  attach(handlers: ChannelHandlers): void {
    this.#handlers = handlers;
    if (this.#state === 'closed') this.#later(0, () => handlers.closed(null));
    else if (this.#in.some(({ arrived }) => arrived)) this.#later(0, () => this.#read());
  }

  accepted(accept: Accept, listening: boolean): void {
    if (this.#state === 'closed') return;
    if (listening) this.attach(accept(this));
    else this.destroy();
  }

  /** The attempt was given up before it was answered. */
  abandon(): void {
    if (this.#handlers === null) this.destroy();
  }

  /** The way here is broken: this end hears of it after a while. */
  reset(): void {
    this.#post({ kind: 'reset', arrived: false, held: false });
  }

  died(silent: boolean): void {
    if (this.#state === 'closed') return;
    if (!silent) this.#tellPeer('reset');
    this.#state = 'closed';
    this.#forget();
  }

  /** The cut is over: what was held goes on, in its order. Bytes are lost that nobody is there any more to repeat. */
  healed(): void {
    if (!this.peer.open) this.#loseHeld();
    for (const parcel of this.#in) {
      if (!parcel.held) continue;
      parcel.held = false;
      this.#carry(parcel);
    }
  }

  /** Gives the network what it takes. */
  #send(): void {
    const { peer } = this;
    const { random, splits, windowBytes } = this.#network.options;
    const size = Math.min(this.#pending, windowBytes - peer.#inBytes);
    // A little room is waited for until it is more, as TCP does.
    if (size > 0 && (size === this.#pending || size >= windowBytes / 2)) {
      const all = joined(this.#out, this.#pending);
      this.#pending -= size;
      this.#out = this.#pending === 0 ? [] : [all.subarray(size)];
      const cut = random.chance(splits) ? random.integer(0, size) : size;
      for (const bytes of [all.subarray(0, cut), all.subarray(cut, size)]) {
        if (bytes.length > 0) peer.#post({ kind: 'bytes', bytes, arrived: false, held: false });
      }
    }
    if (this.#pending === 0 && this.#state === 'ending') {
      peer.#post({ kind: 'end', arrived: false, held: false });
    }
  }

  #post(parcel: Parcel): void {
    if (this.#state === 'closed') {
      this.#answerFromTheGrave(parcel);
      return;
    }
    this.#in.push(parcel);
    if (parcel.kind === 'bytes') this.#inBytes += parcel.bytes.length;
    this.#carry(parcel);
  }

  /** Whoever writes to what is gone hears so, unless the whole machine is gone. */
  #answerFromTheGrave(parcel: Parcel): void {
    const { peer, host } = this;
    if (parcel.kind !== 'bytes' || this.link.cut) return;
    this.#network.options.timeline.after(2 * this.#network.latency(this.link), null, () => {
      if (host.process !== null && !this.link.cut) peer.reset();
    });
  }

  #carry(parcel: Parcel): void {
    if (this.link.cut) {
      parcel.held = true;
      return;
    }
    const { timeline } = this.#network.options;
    this.#lastAt = Math.max(this.#lastAt, timeline.now + this.#network.latency(this.link));
    timeline.after(this.#lastAt - timeline.now, this.process, () => {
      if (this.#state === 'closed') return;
      if (this.link.cut) {
        parcel.held = true;
        return;
      }
      parcel.arrived = true;
      if (parcel.kind === 'reset' && this.#network.options.random.chance(0.5)) this.#broken();
      else this.#read();
    });
  }

  #read(): void {
    if (this.#state === 'closed' || this.#handlers === null || (this.#paused && this.#state === 'open')) return;
    if (this.#nextRead !== null) return;
    const first = this.#in[0];
    if (first === undefined || !first.arrived) return;
    if (first.kind === 'reset') return this.#broken();
    if (first.kind === 'end') {
      this.#in.shift();
      this.#tellPeer('end');
      return this.#close(null);
    }
    const { reading } = this.host;
    const bytes = this.#take(reading?.bytes ?? READ_BYTES);
    if (reading !== null) {
      this.#nextRead = this.#network.options.timeline.after(reading.everyMs, this.process, () => {
        this.#nextRead = null;
        this.#read();
      });
    }
    this.#readMs = this.#network.options.timeline.now;
    if (this.#state === 'open') {
      this.#network.options.read(this.host, bytes, this.peer.host);
      this.#handlers.data(bytes);
    }
    if (this.peer.open) this.peer.#roomed();
    if (this.open && this.#in[0]?.arrived === true) this.#later(0, () => this.#read());
  }

  /** Of what has arrived, up to so many bytes, in memory of its own. */
  #take(most: number): Uint8Array {
    const taken: Uint8Array[] = [];
    let size = 0;
    for (let first = this.#in[0]; first?.kind === 'bytes' && first.arrived && size < most; first = this.#in[0]) {
      const { bytes } = first;
      const part = bytes.subarray(0, most - size);
      taken.push(part);
      size += part.length;
      if (part.length === bytes.length) this.#in.shift();
      else this.#in[0] = { ...first, bytes: bytes.subarray(part.length) };
    }
    this.#inBytes -= size;
    return Uint8Array.from(joined(taken, size));
  }

  /** The peer has read. */
  #roomed(): void {
    this.#send();
    if (this.#pending > 0 || !this.#undrained) return;
    this.#undrained = false;
    this.#later(this.#network.latency(this.link), () => {
      if (this.#state === 'open') this.#handlers?.drained();
    });
  }

  #broken(): void {
    this.#close(new Error('read ECONNRESET'));
  }

  /** What this end had not given to the network is lost. */
  #tellPeer(kind: 'end' | 'reset'): void {
    if (this.peer.open) this.peer.#post({ kind, arrived: false, held: false });
  }

  #loseHeld(): void {
    this.#in = this.#in.filter((parcel) => {
      if (!parcel.held || parcel.kind !== 'bytes') return true;
      this.#inBytes -= parcel.bytes.length;
      return false;
    });
  }

  #close(error: Error | null): void {
    if (this.#state === 'closed') return;
    const told = this.#state === 'ending' ? null : error;
    this.#state = 'closed';
    this.#forget();
    const handlers = this.#handlers;
    if (handlers !== null) this.#later(0, () => handlers.closed(told));
  }

  #forget(): void {
    this.#network.over(this);
    this.#in = [];
    this.#inBytes = 0;
    this.#out = [];
    this.#pending = 0;
  }

  #later(delayMs: number, work: () => void): void {
    this.#network.options.timeline.after(delayMs, this.process, work);
  }
}

function joined(parts: readonly Uint8Array[], size: number): Uint8Array {
  const [only] = parts;
  if (parts.length === 1 && only !== undefined) return only;
  const bytes = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
