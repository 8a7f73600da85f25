import type { Generated } from 'kysely';

/** The tables of the embedded broker. */
declare module '@muster/store' {
  interface Schema {
    broker_exchanges: {
      name: string;
      type: 'direct' | 'topic' | 'fanout';
      alternate: string | null;
    };
    broker_queues: {
      name: string;
      /** Exchange for what is rejected. */
      dead_letter: string | null;
      /** The process with which it goes; null: it stays. */
      holder: string | null;
    };
    broker_bindings: { exchange: string; queue: string; key: string };
    /** A row for each message in each queue. */
    broker_messages: {
      /** Their order in the queue. */
      position: Generated<number>;
      queue: string;
      id: string;
      exchange: string;
      key: string;
      /** JSON. */
      headers: string;
      body: Uint8Array;
      /** 1: it may have been delivered before. */
      redelivered: Generated<number>;
      /** The process that has it in hand; null: it waits. */
      holder: Generated<string | null>;
      /** 1: done with, to be deleted. */
      settled: Generated<number>;
      /** In a dead-letter queue: the queue where it was rejected. */
      died_in: string | null;
    };
  }
}
