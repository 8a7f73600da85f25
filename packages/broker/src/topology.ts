/**
 * What stands in the broker, as pure data: names, flags and arguments of the Aloe sheet §5, with its corrections:
 *
 * - A dead-letter exchange is an argument of queues; on exchanges, where the predecessors put it, it does nothing.
 * - Submission and recovery queues are quorum queues.
 * - The topic of a job is a queue of one connection, not one that anybody may read: transient shared queues are on their way
 *   out of RabbitMQ. Its name ends with the process that made it, so that the successor of a worker need not wait for the
 *   connection of the dead one to end.
 * - The queue of the events topic, which nobody need read, is bounded. So is the life of the topic of a worker that is gone.
 */
export interface Topology {
  readonly exchanges: readonly Exchange[];
  readonly queues: readonly Queue[];
  readonly bindings: readonly Binding[];
}

/** Durable. */
export interface Exchange {
  readonly name: string;
  readonly type: 'direct' | 'topic' | 'fanout';
  /** Where a message goes that it can route nowhere. */
  readonly alternate?: string;
}

/** Durable, not exclusive, not deleted by itself. */
export interface Queue {
  readonly name: string;
  readonly kind: 'quorum' | 'classic';
  /** Exchange for what is rejected. */
  readonly deadLetter?: string;
  /** Most messages; the oldest go. */
  readonly most?: number;
  /** How long a message may wait. */
  readonly messageMs?: number;
  /** It goes when nobody has used it for so long. */
  readonly unusedMs?: number;
}

export interface Binding {
  readonly exchange: string;
  readonly queue: string;
  /** `*` stands for one word, `#` for any number of them, in a topic exchange. */
  readonly key: string;
}

/** What `subscribe` makes: a queue of one process, not durable. */
export interface Topic {
  readonly name: string;
  readonly exchange: string;
  readonly keys: readonly string[];
}

const PREFIX = 'aloe.jobq.';
const DAY_MS = 86_400_000;
/** Of the events topic. */
const EVENTS_MOST = 100_000;

export const ALTERNATE_EXCHANGE = `${PREFIX}AllTenants.alt.Exchange`;
export const ALTERNATE_QUEUE = `${PREFIX}AllTenants.alt.Queue`;
export const DEAD_EXCHANGE = `${PREFIX}AllTenants.dead.Exchange`;
export const DEAD_QUEUE = `${PREFIX}AllTenants.dead.Queue`;

/** What workers beside the server ask of it, at first about tasks alone, and how they are answered. */
export const ORDERS_QUEUE = `${PREFIX}AllTenants.tasks.Queue`;
export const ANSWERS_EXCHANGE = `${PREFIX}AllTenants.answers.Exchange`;

/** Keys of the command exchange: every worker, one worker, one job. */
export const ALL_WORKERS_KEY = `${PREFIX}cmd.worker`;
export const workerKey = (worker: string): string => `${ALL_WORKERS_KEY}.wid.${worker}`;
export const jobKey = (job: string): string => `${ALL_WORKERS_KEY}.jid.${job}`;

/** Keys of the event exchange. */
export const EVENTS_KEY = `${PREFIX}event.subscriber`;
export const correlationEventKey = (correlation: string): string => `${EVENTS_KEY}.cid.${correlation}`;
export const jobEventKey = (job: string): string => `${EVENTS_KEY}.jid.${job}`;

export interface OrganizationNames {
  readonly submitExchange: string;
  readonly commandExchange: string;
  readonly recoveryExchange: string;
  readonly recoveryQueue: string;
  readonly eventExchange: string;
  readonly eventQueue: string;
  /** Begins the name of every submission queue. */
  readonly submitPrefix: string;
}

export function namesOf(organization: string): OrganizationNames {
  const own = `${PREFIX}${organization}.`;
  return {
    submitExchange: `${own}submit.Exchange`,
    commandExchange: `${own}cmd.Exchange`,
    recoveryExchange: `${own}recovery.Exchange`,
    recoveryQueue: `${own}recovery.Queue`,
    eventExchange: `${own}event.Exchange`,
    eventQueue: `${own}event.Topic`,
    submitPrefix: `${own}submit.`,
  };
}

/** What all organizations share: where goes what cannot be routed, and what is rejected. */
export function siteTopology(): Topology {
  return {
    exchanges: [
      { name: DEAD_EXCHANGE, type: 'fanout' },
      { name: ALTERNATE_EXCHANGE, type: 'fanout' },
    ],
    queues: [
      { name: DEAD_QUEUE, kind: 'quorum' },
      { name: ALTERNATE_QUEUE, kind: 'quorum', deadLetter: DEAD_EXCHANGE },
    ],
    bindings: [
      { exchange: DEAD_EXCHANGE, queue: DEAD_QUEUE, key: '' },
      { exchange: ALTERNATE_EXCHANGE, queue: ALTERNATE_QUEUE, key: '' },
    ],
  };
}

/** Exchanges of an organization, and its recovery queue. It stands on that of the site. */
export function organizationTopology(organization: string): Topology {
  const { submitExchange, commandExchange, recoveryExchange, recoveryQueue, eventExchange } = namesOf(organization);
  const alternate = ALTERNATE_EXCHANGE;
  return {
    exchanges: [
      { name: submitExchange, type: 'direct', alternate },
      { name: commandExchange, type: 'topic', alternate },
      { name: recoveryExchange, type: 'fanout', alternate },
      { name: eventExchange, type: 'topic', alternate },
    ],
    queues: [{ name: recoveryQueue, kind: 'quorum', deadLetter: DEAD_EXCHANGE }],
    bindings: [{ exchange: recoveryExchange, queue: recoveryQueue, key: '' }],
  };
}

/** A submission queue by its full name, which begins with `submitPrefix`. */
export function submissionTopology(organization: string, queue: string): Topology {
  const { submitExchange } = namesOf(organization);
  return {
    exchanges: [],
    queues: [{ name: queue, kind: 'quorum', deadLetter: DEAD_EXCHANGE }],
    bindings: [{ exchange: submitExchange, queue, key: queue }],
  };
}

/** The queue of the events topic. Of use where others read it with their own programs: in RabbitMQ. */
export function eventTopology(organization: string): Topology {
  const { eventExchange, eventQueue } = namesOf(organization);
  return {
    exchanges: [],
    queues: [{ name: eventQueue, kind: 'classic', most: EVENTS_MOST, messageMs: 7 * DAY_MS }],
    bindings: [{ exchange: eventExchange, queue: eventQueue, key: `${EVENTS_KEY}.#` }],
  };
}

/** The command topic of a worker: what is sent to it while it starts again waits for it. */
export function workerTopology(organization: string, name: string, worker: string): Topology {
  const { commandExchange } = namesOf(organization);
  const queue = workerTopicOf(organization, name);
  return {
    exchanges: [],
    queues: [{ name: queue, kind: 'classic', deadLetter: DEAD_EXCHANGE, unusedMs: DAY_MS }],
    bindings: [ALL_WORKERS_KEY, `${workerKey(worker)}.#`].map((key) => ({ exchange: commandExchange, queue, key })),
  };
}

export function workerTopicOf(organization: string, name: string): string {
  return `${PREFIX}${organization}.cmd.Topic.${name}`;
}

/** The command topic of a job that runs. */
export function jobTopic(organization: string, job: string): Topic {
  return {
    name: `${PREFIX}${organization}.cmd.Topic.${job}`,
    exchange: namesOf(organization).commandExchange,
    keys: [`${jobKey(job)}.#`],
  };
}

/** Answers that nobody waits for any more may go: their exchange has no alternate. */
export function ordersTopology(): Topology {
  return {
    exchanges: [{ name: ANSWERS_EXCHANGE, type: 'topic' }],
    queues: [{ name: ORDERS_QUEUE, kind: 'quorum', deadLetter: DEAD_EXCHANGE }],
    bindings: [],
  };
}

/** The answers to one process. */
export function answersTopic(holder: string): Topic {
  return { name: `${PREFIX}AllTenants.answers.Topic.${holder}`, exchange: ANSWERS_EXCHANGE, keys: [holder] };
}

/** Where a process keeps the messages of a queue that it holds for long: see `rabbitmq/holds.ts`. */
export function holdQueueOf(queue: string, holder: string): string {
  return `${queue}.hold.${holder}`;
}
