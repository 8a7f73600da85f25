import type { Clock } from '@muster/base';
import { ALTERNATE_QUEUE, type Broker, type Consumer, DEAD_QUEUE, type Delivery, siteTopology } from '@muster/broker';
import { type Organization, organizationIdOf } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Metrics } from '@muster/platform/metrics';
import type { Mailer } from '@muster/platform/outbound';
import { type LayerLog, LeaseKeeper, type Turn } from '@muster/platform/upkeep';
import { insert, type Leases, type Store } from '@muster/store';
import { STRAY_EVENTS } from '../event-types.js';
import '../repository/tables.js';
import { makeStand } from '../standing.js';

export type StrayKind = 'alternate' | 'dead-letter';

export interface StrayReaderDeps {
  readonly kind: StrayKind;
  readonly store: Store;
  readonly recorder: Pick<Recorder, 'commit'>;
  readonly broker: Pick<Broker, 'consume' | 'declare'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly mailer: Mailer;
  /** Who is told; absent: nobody. */
  readonly supportMail?: string;
  /** Counts one. */
  readonly counted: (kind: StrayKind) => void;
}

const OF = {
  alternate: { queue: ALTERNATE_QUEUE, code: 'JOBS_QUEUE_UNROUTABLE_MSG', subject: 'Unroutable message' },
  'dead-letter': { queue: DEAD_QUEUE, code: 'JOBS_QUEUE_DEAD_LETTER_MSG', subject: 'Dead letter' },
} as const;

const SLOTS = 8;
/** Bytes of a body that are logged and mailed (sheet §5.4). */
const SHOWN_BYTES = 4096;
/** Until a message that could not be kept is tried again. */
const AGAIN_MS = 2000;
/** A queue that overflows must not fill a mailbox. */
const MAILS_EACH_HOUR = 20;
const HOUR_MS = 3_600_000;

const keep = insert(
  'job_stray_messages',
  {
    id: 'text',
    kind: 'text',
    org_id: 'text',
    exchange: 'text',
    routing_key: 'text',
    reason: 'text',
    body: 'bytes',
    length: 'integer',
    at: 'integer',
  },
  ['id'],
);

/** Makes what counts the messages of both readers. */
export function strayCounter(metrics: Metrics): (kind: StrayKind) => void {
  const counter = metrics.counter(
    'muster_job_stray_messages_total',
    'Messages that could not be routed (alternate) or were rejected (dead-letter)',
    ['kind'],
  );
  return (kind) => counter.inc({ kind });
}

/**
 * Reads what nobody took: what could not be routed, or what was rejected (sheet §5.4). Each message is logged, counted, kept, mailed if
 * somebody is to be told, and acknowledged. One process for all organizations.
 */
export class StrayReader {
  readonly #keeper: LeaseKeeper;
  readonly #deps: StrayReaderDeps;
  #mails: number[] = [];

  constructor(deps: StrayReaderDeps) {
    this.#deps = deps;
    this.#keeper = new LeaseKeeper({
      ...deps,
      name: `job-reader/${deps.kind}`,
      begin: () => this.#begin(),
    });
  }

  get holds(): boolean {
    return this.#keeper.holds;
  }

  start(): void {
    this.#keeper.start();
  }

  stop(): Promise<void> {
    return this.#keeper.stop();
  }

  async #begin(): Promise<Turn> {
    const { broker, kind } = this.#deps;
    await makeStand(broker, siteTopology());
    const consumer: Consumer = broker.consume(OF[kind].queue, { slots: SLOTS }, (delivery) => this.#read(delivery));
    return { stop: () => consumer.stop() };
  }

  async #read(delivery: Delivery): Promise<void> {
    const { kind, log, counted, clock } = this.#deps;
    const reason = reasonOf(delivery);
    try {
      await this.#keep(delivery, reason);
    } catch (error) {
      log.warn({ err: error, id: delivery.id }, 'a message that nobody took could not be kept; trying again');
      // One that cannot be given back is given back when its lease ends.
      clock.after(AGAIN_MS, () => void delivery.requeue().catch(() => undefined));
      return;
    }
    const told = this.#told(delivery, reason);
    log.error(told, `${OF[kind].code} a message that nobody took is kept: muster dead-letter list`);
    counted(kind);
    await this.#mail(told);
    await delivery.ack();
  }

  /** By its own id: read again after a crash it is kept once. */
  async #keep({ id, exchange, key, body }: Delivery, reason: string | null): Promise<void> {
    const { recorder, kind, clock } = this.#deps;
    const organization = await this.#orgOf(exchange, key);
    const row = {
      id: `${kind}.${id}`,
      kind,
      org_id: organization?.id ?? null,
      exchange,
      routing_key: key,
      reason,
      body,
      length: body.length,
      at: clock.now(),
    };
    const about = { message: row.id, kind };
    const told = organization && STRAY_EVENTS.tell('job_message.kept', organization, about, { reason });
    await recorder.commit([keep(row)], told === null ? [] : [told]);
  }

  /** Names of exchanges and queues tell whose it is: `aloe.jobq.TENANT.…`. */
  async #orgOf(exchange: string, key: string): Promise<Organization | null> {
    const name = /^aloe\.jobq\.([^.]+)\./.exec(exchange)?.[1] ?? /^aloe\.jobq\.([^.]+)\./.exec(key)?.[1];
    const id = name === undefined ? null : await organizationIdOf(this.#deps.store.read, name);
    return name === undefined || id === null ? null : { id, name };
  }

  #told({ id, exchange, key, body, headers, queue, death }: Delivery, reason: string | null) {
    const { kind } = this.#deps;
    const text = body.subarray(0, SHOWN_BYTES).toString('utf8');
    return {
      reader: kind,
      id,
      queue,
      exchange,
      // Logs show nothing that is called a key.
      routing: key,
      reason,
      from: death?.queue ?? null,
      headers,
      length: body.length,
      text,
    };
  }

  async #mail(told: Readonly<Record<string, unknown>>): Promise<void> {
    const { supportMail: to, mailer, kind, clock, log } = this.#deps;
    if (to === undefined) return;
    const now = clock.now();
    this.#mails = this.#mails.filter((at) => at > now - HOUR_MS);
    if (this.#mails.length >= MAILS_EACH_HOUR) return;
    this.#mails.push(now);
    const text = Object.entries(told).map(
      ([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`,
    );
    try {
      await mailer.send({ to, subject: OF[kind].subject, text: `${text.join('\n')}\n` });
    } catch (error) {
      log.warn({ err: error, to }, 'mail about a message that nobody took was not sent');
    }
  }
}

function reasonOf({ death }: Delivery): string | null {
  return death === null ? null : `${death.reason} in ${death.queue}`;
}
