import type { Clock } from '@muster/base';
import type { Channel } from 'rabbitmq-client';
import type { Limits } from '../limits.js';
import type { Topic } from '../topology.js';
import { type BrokerLog, type Hear, MISSED, type Subscription } from '../types.js';
import { received } from './incoming.js';
import { type Link, reasonOf } from './link.js';
import { StandingChannel } from './standing-channel.js';

export interface TopicsDeps {
  readonly link: Link;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
  readonly holder: string;
}

interface Heard {
  readonly topic: Topic;
  readonly queue: string;
  readonly hear: Hear;
  /** The last attempt to hear it. */
  listening: Promise<void>;
  /** Where it is heard. */
  by: { readonly channel: Channel; readonly consumerTag: string } | null;
}

/** All topics that this process hears, over one channel. Their queues are of its connection, and go with it. */
export class Topics {
  readonly #deps: TopicsDeps;
  readonly #heard = new Set<Heard>();
  readonly #channel: StandingChannel;

  constructor(deps: TopicsDeps) {
    this.#deps = deps;
    this.#channel = new StandingChannel({
      ...deps,
      what: 'topics',
      begin: async (channel) => void this.#listenToAll(channel),
    });
    this.#channel.open();
  }

  subscribe(topic: Topic, hear: Hear): Subscription {
    const queue = `${topic.name}.${this.#deps.holder}`;
    const heard: Heard = { topic, queue, hear, listening: Promise.resolve(), by: null };
    this.#heard.add(heard);
    const channel = this.#channel.current;
    if (channel !== null) this.#listen(channel, heard);
    return { stop: () => this.#stop(heard) };
  }

  /**
   * Its consumer is cancelled first: of a queue that is deleted under its consumer the broker tells, and then all that is heard over
   * the channel begins anew.
   */
  async #stop(heard: Heard): Promise<void> {
    if (!this.#heard.delete(heard)) return;
    const { link } = this.#deps;
    await heard.listening;
    const { by, queue } = heard;
    try {
      if (by?.channel.active) await link.ask(() => by.channel.basicCancel(by.consumerTag));
      await link.admin((admin) => admin.queueDelete({ queue }));
    } catch {
      // It went with the connection, or goes with it.
    }
  }

  close(): Promise<void> {
    this.#heard.clear();
    return this.#channel.close();
  }

  /** One after the other, however long that takes for thousands. */
  async #listenToAll(channel: Channel): Promise<void> {
    for (const heard of [...this.#heard]) {
      if (this.#channel.current !== channel) return;
      await this.#listen(channel, heard);
    }
  }

  #listen(channel: Channel, heard: Heard): Promise<void> {
    heard.listening = this.#tryToListen(channel, heard);
    return heard.listening;
  }

  /** One that cannot be heard, for its exchange is not there, keeps no other from being heard. */
  async #tryToListen(channel: Channel, heard: Heard): Promise<void> {
    const { link, log, clock, limits } = this.#deps;
    const { topic, queue } = heard;
    if (!this.#heard.has(heard)) return;
    try {
      await link.admin(async (admin) => {
        await admin.queueDeclare({ queue, exclusive: true, autoDelete: true });
        for (const key of topic.keys) await admin.queueBind({ exchange: topic.exchange, queue, routingKey: key });
      });
      if (!this.#heard.has(heard)) return;
      const { consumerTag } = await channel.basicConsume({ queue, noAck: true }, (message) => {
        if (this.#heard.has(heard)) this.#tell(heard, received(message));
      });
      heard.by = { channel, consumerTag };
      this.#tell(heard, MISSED);
    } catch (err) {
      log.warn({ reason: reasonOf(err), topic: topic.name }, 'a topic cannot be heard now');
      // With the channel gone the next one begins with all of them.
      clock.after(limits.retryMostMs, () => {
        if (this.#channel.current === channel) void this.#listen(channel, heard);
      });
    }
  }

  #tell({ topic, hear }: Heard, message: Parameters<Hear>[0]): void {
    try {
      hear(message);
    } catch (err) {
      this.#deps.log.error({ err, topic: topic.name }, 'whoever hears a topic failed at it');
    }
  }
}
