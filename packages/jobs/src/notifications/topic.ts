import { type Broker, eventTopology, jobEventKey, namesOf } from '@muster/broker';
import { type Recorder, readOwnEvent, type StoredEvent } from '@muster/platform/log';
import type { LayerLog } from '@muster/platform/upkeep';

export interface EventTopicDeps {
  readonly recorder: Pick<Recorder, 'onStored'>;
  readonly broker: Pick<Broker, 'kind' | 'declare' | 'publish'>;
  readonly log: LayerLog;
}

/** Being published at the same time; more are dropped while the broker is slow. */
const MOST_PENDING = 1000;
const SUBJECT = 'job/';

/**
 * Tells each change of a job on the events topic of its organization, for programs that read RabbitMQ (sheet §5.5). It is told once it
 * is stored, by the server, which hears what workers store; what the broker does not take is lost to the topic, and nowhere else
 * (sheet §9.3).
 */
export class EventTopic {
  readonly #deps: EventTopicDeps;
  readonly #declared = new Map<string, Promise<void>>();
  #pending = 0;
  #deaf: (() => void) | null = null;

  constructor(deps: EventTopicDeps) {
    this.#deps = deps;
  }

  start(): void {
    if (this.#deps.broker.kind !== 'rabbitmq') return;
    this.#deaf = this.#deps.recorder.onStored((events) => {
      for (const event of events) if (event.subject?.startsWith(SUBJECT)) this.#tell(event);
    });
  }

  stop(): void {
    this.#deaf?.();
  }

  #tell({ recorded, atMs, subject }: StoredEvent): void {
    const { log } = this.#deps;
    if (this.#pending >= MOST_PENDING)
      return log.debug({ subject }, 'an event was not told on the topic: too many wait');
    this.#pending += 1;
    const tenant = recorded.origin.org;
    const { type, attributes, data } = readOwnEvent(recorded);
    const { job = '' } = attributes;
    const body = { msgType: type.replace('.', '_').toUpperCase(), correlationId: job, senderId: 'muster', at: atMs };
    this.#publish(tenant, job, JSON.stringify({ ...body, ...attributes, data }))
      .catch((error: unknown) => log.debug({ err: error, job }, 'an event was not told on the topic'))
      .finally(() => {
        this.#pending -= 1;
      });
  }

  async #publish(tenant: string, job: string, body: string): Promise<void> {
    const { broker } = this.#deps;
    let declared = this.#declared.get(tenant);
    if (declared === undefined) {
      declared = broker.declare(eventTopology(tenant));
      this.#declared.set(tenant, declared);
      declared.catch(() => this.#declared.delete(tenant));
    }
    await declared;
    await broker.publish({ exchange: namesOf(tenant).eventExchange, key: jobEventKey(job), body });
  }
}
