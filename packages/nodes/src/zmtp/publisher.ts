import { NODE_LIMITS } from '../limits.js';
import type { Connection, FrameSink } from './connection.js';
import { COMMAND, commandData, encodeFrame, MORE } from './frame.js';
import { ProtocolError } from './protocol-error.js';

const SUBSCRIBE = 1;

/**
 * The PUB end: the same to all who have subscribed. There is one topic, the empty one (sheet §3.1), so a subscription is
 * a flag of the connection, and nothing that a subscriber sends is kept.
 */
export class Publisher {
  readonly #subscribers = new Set<Connection>();
  #published = 0;
  /** What was published first, until something else is. */
  #first: Buffer | null = null;

  get subscribers(): number {
    return this.#subscribers.size;
  }

  opened(connection: Connection): FrameSink {
    const subscribers = this.#subscribers;
    const subscribe = (subscriber: Connection): void => this.#subscribe(subscriber);
    return {
      take(flags, body) {
        const { subscribes, topic } = readSubscription(flags, body);
        if (topic.length > 0) throw new ProtocolError('a subscription to a topic: there is none');
        if (subscribes) subscribe(connection);
        else subscribers.delete(connection);
      },
      held: 0,
      get waiting() {
        return !subscribers.has(connection);
      },
    };
  }

  /** Who comes back to a server that has just started need not wait for an interval to learn of it. */
  #subscribe(subscriber: Connection): void {
    if (this.#subscribers.has(subscriber)) return;
    this.#subscribers.add(subscriber);
    if (this.#first !== null) subscriber.sendFrames(this.#first, NODE_LIMITS.unsentBeats);
  }

  closed(connection: Connection): void {
    this.#subscribers.delete(connection);
  }

  /** PUB never waits: a subscriber that does not keep up misses beats. */
  publish(parts: readonly Uint8Array[]): void {
    const last = parts.length - 1;
    const bytes = Buffer.concat(parts.map((part, index) => encodeFrame(index < last ? MORE : 0, part)));
    this.#published += 1;
    this.#first = this.#published === 1 ? bytes : null;
    for (const subscriber of this.#subscribers) subscriber.sendFrames(bytes, NODE_LIMITS.unsentBeats);
  }
}

/** A command since ZMTP 3.1, before that a message whose first byte tells. */
function readSubscription(flags: number, body: Buffer): { subscribes: boolean; topic: Buffer } {
  if ((flags & MORE) !== 0) throw new ProtocolError('a subscription of several frames');
  if ((flags & COMMAND) === 0) {
    const [first] = body;
    if (first !== 0 && first !== SUBSCRIBE) throw new ProtocolError('expected a subscription');
    return { subscribes: first === SUBSCRIBE, topic: body.subarray(1) };
  }
  const subscribed = commandData(body, 'SUBSCRIBE');
  const topic = subscribed ?? commandData(body, 'CANCEL');
  if (topic === null) throw new ProtocolError('expected SUBSCRIBE or CANCEL');
  return { subscribes: subscribed !== null, topic };
}
