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
}

/** All topics that this process hears, over one channel. Their queues are of its connection, and go with it. */
export class Topics {
  readonly #deps: TopicsDeps;
  readonly #heard = new Set<Heard>();
  readonly #channel: StandingChannel;

  constructor(deps: TopicsDeps) {
    this.#deps = deps;
    this.#channel = new StandingChannel({ ...deps, what: 'topics', begin: (channel) => this.#begin(channel) });
    this.#channel.open();
  }

  subscribe(topic: Topic, hear: Hear): Subscription {
    const heard: Heard = { topic, queue: `${topic.name}.${this.#deps.holder}`, hear };
    this.#heard.add(heard);
    const channel = this.#channel.current;
    if (channel !== null) void this.#listen(channel, heard);
    return {
      stop: async () => {
        if (!this.#heard.delete(heard)) return;
        await this.#deps.link
          .admin((channel) => channel.queueDelete({ queue: heard.queue }))
          // It went with the connection, or goes with it.
          .catch(() => undefined);
      },
    };
  }

  close(): Promise<void> {
    this.#heard.clear();
    return this.#channel.close();
  }

  async #begin(channel: Channel): Promise<void> {
    for (const heard of this.#heard) await this.#listen(channel, heard);
  }

  /** One that cannot be heard, for its exchange is not there, keeps no other from being heard. */
  async #listen(channel: Channel, heard: Heard): Promise<void> {
    const { link, log, clock, limits } = this.#deps;
    const { topic, queue } = heard;
    try {
      await link.admin(async (admin) => {
        await admin.queueDeclare({ queue, exclusive: true, autoDelete: true });
        for (const key of topic.keys) await admin.queueBind({ exchange: topic.exchange, queue, routingKey: key });
      });
      if (!this.#heard.has(heard)) return void (await link.admin((admin) => admin.queueDelete({ queue })));
      await channel.basicConsume({ queue, noAck: true }, (message) => {
        if (this.#heard.has(heard)) this.#tell(heard, received(message));
      });
      this.#tell(heard, MISSED);
    } catch (err) {
      log.warn({ reason: reasonOf(err), topic: topic.name }, 'a topic cannot be heard now');
      // With the channel gone the next one begins with all of them.
      clock.after(limits.retryMostMs, () => {
        const current = this.#channel.current;
        if (current === channel && this.#heard.has(heard)) void this.#listen(channel, heard);
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
