import type { Channel, Envelope } from 'rabbitmq-client';
import { MusterError } from '../errors.js';
import type { Limits } from '../limits.js';
import { type Checked, unavailable, unroutable } from '../outgoing.js';
import { closed, codeOf, type Link, reasonOf } from './link.js';

/** A channel with what it tells of messages that were published over it. */
interface Publishing {
  readonly channel: Channel;
  /** Correlation ids of messages that came back: no queue takes them. */
  readonly returned: Set<string>;
  /** Why the broker has closed it. */
  failure: string | null;
}

/**
 * Publishes over a connection of its own, so that an alarm, for which the broker stops reading it, does not stop consumers:
 * durable, mandatory, and confirmed by the broker for every queue.
 */
export class Outbound {
  readonly #link: Link;
  readonly #limits: Limits;
  #opening: Promise<Publishing> | null = null;
  /** Messages of this turn. */
  readonly #leaving: (() => Promise<void>)[] = [];
  #count = 0;
  #unconfirmed = 0;

  constructor(link: Link, limits: Limits) {
    this.#link = link;
    this.#limits = limits;
  }

  /** As `Broker.publish`. */
  async publish({ exchange, key, id, headers, body }: Checked): Promise<void> {
    const { unconfirmed } = this.#limits;
    if (this.#unconfirmed >= unconfirmed) throw unavailable(`${unconfirmed} messages wait for it already`);
    this.#unconfirmed += 1;
    this.#count += 1;
    const correlationId = String(this.#count);
    let publishing: Publishing | undefined;
    try {
      await this.#link.ask(async () => {
        publishing = await this.#publishing();
        const { channel } = publishing;
        const envelope: Envelope = {
          exchange,
          routingKey: key,
          messageId: id,
          correlationId,
          headers,
          durable: true,
          mandatory: true,
          contentType: 'application/json',
          // With an encoding the library leaves bodies as they are.
          contentEncoding: 'utf-8',
        };
        await this.#leave(() => channel.basicPublish(envelope, body));
        // What comes back comes before its confirmation, and is told a turn later.
        await new Promise(setImmediate);
      });
    } catch (error) {
      throw refusal(error, publishing, exchange, key);
    } finally {
      this.#unconfirmed -= 1;
    }
    if (publishing?.returned.delete(correlationId)) throw unroutable({ exchange, key });
  }

  async close(): Promise<void> {
    const publishing = await this.#opening?.catch(() => null);
    if (publishing) await closed(publishing.channel);
  }

  /** What is published in one turn leaves in one write: a write costs as much as all else of a message. */
  #leave(publish: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#leaving.push(() => publish().then(resolve, reject));
      if (this.#leaving.length > 1) return;
      setImmediate(() => {
        const leaving = this.#leaving.splice(0);
        this.#link.together(() => {
          for (const leave of leaving) void leave();
        });
      });
    });
  }

  #publishing(): Promise<Publishing> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = null;
      throw error;
    });
    return this.#opening;
  }

  async #open(): Promise<Publishing> {
    const channel = await this.#link.ask((connection) => connection.acquire({ emitErrorsFromChannel: true }));
    const publishing: Publishing = { channel, returned: new Set(), failure: null };
    channel.on('error', (error: unknown) => {
      publishing.failure = reasonOf(error);
    });
    channel.on('close', () => {
      this.#opening = null;
    });
    channel.on('basic.return', ({ correlationId }) => {
      if (correlationId !== undefined) publishing.returned.add(correlationId);
    });
    await channel.confirmSelect();
    return publishing;
  }
}

/**
 * An exchange that is not there closes the channel: the broker's words come with the first message that is unconfirmed,
 * whosever it is, and the others only learn that it is closed.
 */
function refusal(error: unknown, publishing: Publishing | undefined, exchange: string, key: string): Error {
  if (error instanceof MusterError) return error;
  if (publishing !== undefined && codeOf(error) === 'NOT_FOUND') publishing.failure = reasonOf(error);
  const failure = publishing?.failure ?? reasonOf(error);
  if (failure.includes(`no exchange '${exchange}'`)) return unroutable({ exchange, key });
  return unavailable(failure, error);
}
