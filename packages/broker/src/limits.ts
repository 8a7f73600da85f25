/** Every bound of the broker in one place. Tests narrow them; nothing else should. */
export interface Limits {
  /** Of one message. */
  readonly bodyBytes: number;
  /** Of a name of a queue or exchange, and of a routing key: what AMQP can carry. */
  readonly nameBytes: number;
  /** Of one consumer. */
  readonly slots: number;
  /** How long a publish, a declaration or a question waits for the broker's answer. */
  readonly publishMs: number;
  /** Messages waiting for a confirmation beyond which a publish is refused. */
  readonly unconfirmed: number;
  /** How long connecting may take. */
  readonly connectMs: number;
  /** Pause before connecting again: doubling from the first to the most. */
  readonly retryFirstMs: number;
  readonly retryMostMs: number;
  /** Silence, twice this long, after which a broker counts as gone. */
  readonly heartbeatSeconds: number;
  /** How long `close` waits for the broker. */
  readonly closeMs: number;
  /** Age at which a held delivery is renewed; well below the `consumer_timeout` of any broker (30 minutes by default). */
  readonly holdMs: number;
  /** After how long a message that nobody holds any more leaves the queue of holds of a process. */
  readonly orphanMs: number;
  /** Idle slots that wait at the broker at a time; more of them begin to wait as those are taken. */
  readonly idleSlots: number;
  /** Settled messages that may come again, of each consumer. */
  readonly remembered: number;
  /** Embedded: how long a process may be silent before what it holds is delivered to others. */
  readonly leaseMs: number;
  /** Embedded: settled messages are deleted so many at a time. */
  readonly sweepRows: number;
}

export const LIMITS: Limits = {
  bodyBytes: 4 * 1024 * 1024,
  nameBytes: 255,
  slots: 10_000,
  publishMs: 10_000,
  unconfirmed: 20_000,
  connectMs: 5_000,
  retryFirstMs: 100,
  retryMostMs: 5_000,
  heartbeatSeconds: 5,
  closeMs: 3_000,
  holdMs: 600_000,
  orphanMs: 5_000,
  idleSlots: 64,
  remembered: 10_000,
  leaseMs: 10_000,
  sweepRows: 1_000,
};
