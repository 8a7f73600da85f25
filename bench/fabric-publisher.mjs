import { Connection } from './fabric-reader.mjs';
import { putNumber, SEQ, TIME } from './fabric-wire.mjs';

const BLOCK_BYTES = 16 * 1024;
/** Bytes not taken by the system beyond which nothing more is written: the server does not read as fast. */
const MOST_PENDING = 128 * 1024;

/**
 * Bytes of events on the way to one reader. Servers cut a client that has more than 8 MiB unread (`events.outlet_bytes`),
 * so that no reader is ever cut, however slow the machine is: the publisher waits for the slowest of them.
 */
const READER_BYTES = 6 * 1024 * 1024;
/** Of the header lines that a server adds to an event. */
const HEAD_BYTES = 128;

/** Publishes events of all groups in turn: as fast as the slowest reader takes them, or at a rate. */
export class Publisher {
  /** Number of the last event of each group. */
  published;
  events = 0;
  /** Deliveries that what was published makes here. */
  expected = 0;
  #connection;
  #groups;
  #progress;
  #readers;
  /** Events on the way to one reader. */
  #most;
  /** Events that may be published before any reader can have more than that on the way. */
  #credit = 0;
  #next = 0;
  #timer = null;
  #window = 0;
  #stopped = true;

  /** @param groups {bytes, bodyAt, fanout} each @param readers those that the events are for */
  constructor(protocol, groups, readers, progress) {
    this.#connection = new Connection(protocol);
    this.#groups = groups;
    this.#readers = readers;
    this.#progress = progress;
    const largest = Math.max(...groups.map(({ bytes }) => bytes.length));
    this.#most = Math.floor(READER_BYTES / (largest + HEAD_BYTES));
    this.published = groups.map(() => 0);
  }

  get failure() {
    return this.#connection.failure;
  }

  get socket() {
    return this.#connection.socket;
  }

  async open(port, credentials) {
    await this.#connection.open(port, credentials);
    this.#connection.socket.on('drain', () => this.advance());
  }

  /** As long as no more than `window` deliveries are on the way, and to no reader more than it may have. */
  flood(window) {
    this.#stopped = false;
    this.#window = window;
    this.advance();
  }

  /** Called after whatever may have made room. */
  advance() {
    if (this.#stopped || this.#window === 0) return;
    const { socket } = this.#connection;
    const more = () => this.expected - this.#progress.received < this.#window && this.#hasCredit();
    while (socket.writableLength < MOST_PENDING && more()) this.#write(more);
  }

  /** Events a second, in portions of a millisecond; fewer when a reader does not take as many. */
  pace(rate) {
    this.#stopped = false;
    const [began, before] = [performance.now(), this.events];
    this.#timer = setInterval(() => {
      const due = before + Math.floor(((performance.now() - began) * rate) / 1000);
      const more = () => this.events < due && this.#hasCredit();
      while (more()) this.#write(more);
    }, 1);
  }

  stop() {
    this.#stopped = true;
    this.#window = 0;
    clearInterval(this.#timer);
  }

  close() {
    this.#connection.close();
  }

  /** Looks at the readers only when what was found last is used up. */
  #hasCredit() {
    if (this.#credit > 0) return true;
    let credit = Number.POSITIVE_INFINITY;
    for (const reader of this.#readers) {
      // Of one event it gets as many copies as it has subscriptions to the same group.
      const room = Math.floor((this.#most - reader.pending(this.published)) / reader.copies);
      if (room < credit) credit = room;
    }
    this.#credit = credit;
    return credit > 0;
  }

  #write(more) {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    const now = Math.round(performance.now() * 1000);
    let at = 0;
    do {
      const index = this.#next;
      const { bytes, bodyAt, fanout } = this.#groups[index];
      if (at + bytes.length > BLOCK_BYTES) break;
      this.#next = (index + 1) % this.#groups.length;
      block.set(bytes, at);
      this.published[index] += 1;
      putNumber(block, at + bodyAt, SEQ, this.published[index]);
      putNumber(block, at + bodyAt + SEQ, TIME, now);
      at += bytes.length;
      this.events += 1;
      this.#credit -= 1;
      this.expected += fanout;
    } while (more());
    this.#connection.socket.write(block.subarray(0, at));
  }
}
