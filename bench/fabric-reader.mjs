import { once } from 'node:events';
import { connect } from 'node:net';
import { readNumber, SEQ, TIME } from './fabric-wire.mjs';

/** A raw connection that can log in; everything but events is given to whoever waits for it. */
export class Connection {
  #protocol;
  #rest = null;
  #size = 0;
  #waiting = null;
  #event;
  failure = null;

  /** @param event takes (bytes, start, end, now) of each event. */
  constructor(protocol, event = () => undefined) {
    this.#protocol = protocol;
    this.#event = event;
  }

  async open(port, credentials) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('error', (error) => this.#failed(error.message));
    this.socket.on('close', () => this.#failed('the connection was closed'));
    await once(this.socket, 'connect');
    this.socket.on('data', (chunk) => this.#take(chunk));
    await this.ask(this.#protocol.hello(credentials), this.#protocol.welcomed);
  }

  /** Resolves with the frame that answers. */
  ask(request, answers) {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject, answers };
      if (this.failure === null) this.socket.write(request, 'latin1');
      else reject(new Error(this.failure));
    });
  }

  close() {
    this.failure ??= 'it was closed by the load generator';
    this.socket.destroy();
  }

  #take(chunk) {
    const protocol = this.#protocol;
    const bytes = this.#rest === null ? chunk : Buffer.concat([this.#rest, chunk]);
    const now = performance.now();
    let at = 0;
    while (at < bytes.length) {
      if (protocol.skip(bytes, at)) {
        at += 1;
        continue;
      }
      const event = protocol.isEvent(bytes, at);
      const end = protocol.endOf(bytes, at, event ? this.#size : 0);
      if (end < 0) break;
      if (event) {
        this.#size = end - at;
        this.#event(bytes, at, end, now);
      } else this.#control(bytes.latin1Slice(at, end));
      at = end;
    }
    this.#rest = at < bytes.length ? bytes.subarray(at) : null;
  }

  #control(text) {
    const answer = this.#protocol.answer(text);
    if (answer !== null) this.socket.write(answer);
    if (this.#protocol.failed(text)) return this.#failed(text);
    const waiting = this.#waiting;
    if (waiting === null || !waiting.answers(text)) return;
    this.#waiting = null;
    waiting.resolve(text);
  }

  #failed(reason) {
    this.failure ??= reason;
    this.#waiting?.reject(new Error(this.failure));
    this.#waiting = null;
  }
}

/** One client with a subscription for each lane; checks that each of its events comes once and in order. */
export class Reader {
  count = 0;
  /** Subscriptions that get the same event, at most. */
  copies;
  #connection;
  #protocol;
  /** Of each lane: its group, and the number of its last event. */
  #lanes;

  /**
   * @param lanes {selector, group} of each subscription
   * @param seen takes (when it came, when it was published, its number) of each event, or null
   */
  constructor(protocol, bodySizes, lanes, progress, seen) {
    this.#protocol = protocol;
    this.#lanes = lanes.map(({ selector, group }) => ({ selector, group, bodySize: bodySizes[group], last: 0 }));
    const copies = new Map();
    for (const { group } of lanes) copies.set(group, (copies.get(group) ?? 0) + 1);
    this.copies = Math.max(...copies.values());
    this.#connection = new Connection(protocol, (bytes, start, end, now) => {
      const lane = this.#lanes[protocol.laneOf(bytes, start)];
      const body = end - protocol.trailer - lane.bodySize;
      const seq = readNumber(bytes, body, SEQ);
      if (seq !== lane.last + 1) this.#connection.failure ??= `event ${seq} came after ${lane.last}`;
      lane.last = seq;
      this.count += 1;
      progress.received += 1;
      if (seen !== null) seen(now, readNumber(bytes, body + SEQ, TIME) / 1000, seq);
    });
  }

  get socket() {
    return this.#connection.socket;
  }

  get failure() {
    return this.#connection.failure;
  }

  async open(port, credentials) {
    await this.#connection.open(port, credentials);
    const selectors = this.#lanes.map(({ selector }) => selector);
    await this.#connection.ask(this.#protocol.subscribe(selectors), this.#protocol.subscribed);
  }

  /** Events that were published for it and are not here. @param published number of the last event of each group */
  pending(published) {
    let pending = 0;
    for (const { group, last } of this.#lanes) pending += published[group] - last;
    return pending;
  }

  /** Whether the last event of each lane is here. */
  complete(published) {
    return this.#lanes.every(({ group, last }) => last === published[group]);
  }

  close() {
    this.#connection.close();
  }
}
