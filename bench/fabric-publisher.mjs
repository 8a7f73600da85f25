import { Connection } from './fabric-reader.mjs';
import { putNumber, SEQ, TIME } from './fabric-wire.mjs';

const BLOCK_BYTES = 16 * 1024;
/** Not taken by the system: the server does not read as fast. */
const MOST_PENDING = 128 * 1024;

/** Publishes events of all groups in turn: as fast as they come back, or at a rate. */
export class Publisher {
  /** Number of the last event of each group. */
  published;
  events = 0;
  /** Deliveries that what was published makes here. */
  expected = 0;
  #connection;
  #groups;
  #progress;
  #next = 0;
  #timer = null;
  #window = 0;
  #stopped = true;

  /** @param groups {bytes, bodyAt, fanout} each */
  constructor(protocol, groups, progress) {
    this.#connection = new Connection(protocol);
    this.#groups = groups;
    this.#progress = progress;
    this.published = groups.map(() => 0);
  }

  get failure() {
    return this.#connection.failure;
  }

  async open(port, credentials) {
    await this.#connection.open(port, credentials);
    this.#connection.socket.on('drain', () => this.advance());
  }

  /** As long as no more than `window` deliveries are on the way. */
  flood(window) {
    this.#stopped = false;
    this.#window = window;
    this.advance();
  }

  /** Called after whatever may have made room. */
  advance() {
    if (this.#stopped || this.#window === 0) return;
    const { socket } = this.#connection;
    while (socket.writableLength < MOST_PENDING && this.expected - this.#progress.received < this.#window) {
      this.#write(() => this.expected - this.#progress.received < this.#window);
    }
  }

  /** Events a second, in portions of a millisecond. */
  pace(rate) {
    this.#stopped = false;
    const [began, before] = [performance.now(), this.events];
    this.#timer = setInterval(() => {
      const due = before + Math.floor(((performance.now() - began) * rate) / 1000);
      while (this.events < due) this.#write(() => this.events < due);
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
      this.expected += fanout;
    } while (more());
    this.#connection.socket.write(block.subarray(0, at));
  }
}
