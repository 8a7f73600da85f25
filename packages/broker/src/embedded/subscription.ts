import type { Clock, Timer } from '@muster/base';
import type { Store } from '@muster/store';
import type { Limits } from '../limits.js';
import type { Topic } from '../topology.js';
import { type BrokerLog, type ConsumeOptions, type Consumer, type Handler, type Hear, MISSED } from '../types.js';
import { dropQueues, writes } from './repository.js';

export interface SubscriptionDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: BrokerLog;
  readonly limits: Limits;
  readonly holder: string;
  /** Bindings of the exchange were made or deleted. */
  changed(): void;
  consume(queue: string, options: ConsumeOptions, handler: Handler): Consumer;
  stopped(): void;
}

/** A queue of this process, which goes with it. */
export function subscribe(topic: Topic, hear: Hear, deps: SubscriptionDeps) {
  const { store, clock, log, limits, holder, changed, consume } = deps;
  const queue = `${topic.name}.${holder}`;
  let consumer: Consumer | null = null;
  let retry: Timer | undefined;
  let stopped = false;

  const tell: typeof hear = (message) => {
    try {
      hear(message);
    } catch (err) {
      log.error({ err, topic: topic.name }, 'whoever hears a topic failed at it');
    }
  };

  async function begin(): Promise<void> {
    try {
      await store.commit([
        writes.queue({ name: queue, dead_letter: null, holder }),
        ...topic.keys.map((key) => writes.binding({ exchange: topic.exchange, queue, key })),
      ]);
      if (stopped) return;
      changed();
      consumer ??= consume(queue, { slots: 1 }, async (delivery) => {
        tell(delivery);
        await delivery.ack();
      });
      tell(MISSED);
    } catch (err) {
      log.warn({ err, topic: topic.name }, 'a topic cannot be heard now');
      retry = clock.after(limits.retryMostMs, () => void begin());
    }
  }

  let begun = begin();
  return {
    /** Its queue was deleted by others, who took this process for gone. */
    again(): void {
      begun = begin();
    },
    async stop(): Promise<void> {
      if (stopped) return;
      stopped = true;
      retry?.cancel();
      await begun;
      await consumer?.stop();
      deps.stopped();
      changed();
      // If it cannot be deleted now, it goes when what is left of this process goes.
      await store
        .transact((trx) => dropQueues(trx, [queue]))
        .catch((err: unknown) => {
          log.warn({ err, topic: topic.name }, 'a topic that nobody hears any more cannot be deleted now');
        });
      changed();
    },
  };
}
