import { MusterError } from '../errors.js';
import type { FabricLog } from '../log.js';
import type { Publication, Publisher } from '../session/broker.js';
import type { EventLog, Schedule } from './ports.js';

/** Events that wait for the log: with more, publishers are paused. */
const WAITING_EVENTS = 20_000;
const WAITING_BYTES = 16 * 1024 * 1024;
/** Bytes of one append. Its events are delivered all at once, and must stay far below the limit of a slow client. */
const BATCH_BYTES = 1024 * 1024;

export interface LogAppenderPorts {
  readonly events: EventLog;
  readonly schedule: Schedule;
  readonly log: FabricLog;
  /** Runs work after this turn of the loop. */
  defer(work: () => void): void;
}

/**
 * Appends to the log what clients publish. All events of one turn of the event loop, and all that come while the log is
 * busy, are one append and so one commit, unless they are too many bytes to be delivered at once. The next append
 * begins as soon as one is durable: it is stored while the one before is delivered and answered. Events and answers
 * keep the order in which each publisher has sent them.
 */
export class LogAppender {
  readonly #ports: LogAppenderPorts;
  #waiting: Publication[] = [];
  #waitingBytes = 0;
  /** The chunk that was counted last in `#waitingBytes`: many events lie in the same chunk. */
  #counted: Uint8Array | null = null;
  /** An append is not durable yet, or one will begin after this turn. */
  #busy = false;
  /** Settles when the latest append is answered. */
  #answered: Promise<void> = Promise.resolve();
  /** How many appends are not answered. */
  #unanswered = 0;
  #idle: (() => void)[] = [];
  readonly #paused = new Set<Publisher>();

  constructor(ports: LogAppenderPorts) {
    this.#ports = ports;
  }

  /** Events that the log has not been given yet. */
  get pending(): number {
    return this.#waiting.length;
  }

  publish(publication: Publication): void {
    this.#waiting.push(publication);
    if (publication.bytes !== this.#counted) {
      this.#counted = publication.bytes;
      this.#waitingBytes += publication.bytes.length;
    }
    if (this.#waiting.length > WAITING_EVENTS || this.#waitingBytes > WAITING_BYTES) this.#pause(publication.publisher);
    if (this.#busy) return;
    this.#busy = true;
    this.#ports.defer(this.#next);
  }

  /** Resolves when everything published until now is stored or refused. */
  settle(): Promise<void> {
    return this.#isIdle ? Promise.resolve() : new Promise((resolve) => this.#idle.push(resolve));
  }

  get #isIdle(): boolean {
    return !this.#busy && this.#unanswered === 0;
  }

  #pause(publisher: Publisher): void {
    if (this.#paused.has(publisher)) return;
    this.#paused.add(publisher);
    publisher.pause();
  }

  readonly #next = (): void => {
    const batch = this.#take();
    if (this.#waiting.length <= WAITING_EVENTS / 2 && this.#waitingBytes <= WAITING_BYTES / 2) {
      for (const publisher of this.#paused) publisher.resume();
      this.#paused.clear();
    }
    this.#unanswered += 1;
    this.#answered = this.#store(batch, this.#answered);
  };

  #take(): readonly Publication[] {
    let count = 0;
    let bytes = 0;
    let counted: Uint8Array | null = null;
    for (const publication of this.#waiting) {
      if (publication.bytes !== counted) {
        counted = publication.bytes;
        if (count > 0 && bytes + counted.length > BATCH_BYTES) break;
        bytes += counted.length;
      }
      count += 1;
    }
    this.#waitingBytes -= bytes;
    const batch = this.#waiting.splice(0, count);
    if (this.#waiting.length === 0) this.#counted = null;
    return batch;
  }

  /** @param before Settles when all earlier ones are answered. */
  async #store(batch: readonly Publication[], before: Promise<void>): Promise<void> {
    let durable = false;
    const stored = (): void => {
      durable = true;
      if (this.#waiting.length > 0) this.#next();
      else this.#busy = false;
    };
    const isPlain = batch.every(({ due, publisher }) => due === null && !publisher.gone);
    const answer = await (isPlain ? this.#storePlain(batch, stored) : this.#storeMixed(batch));
    await before;
    answer();
    this.#unanswered -= 1;
    if (!durable) {
      if (this.#waiting.length > 0) this.#ports.defer(this.#next);
      else this.#busy = false;
    }
    if (this.#isIdle) for (const idle of this.#idle.splice(0)) idle();
  }

  async #storePlain(batch: readonly Publication[], stored: () => void): Promise<() => void> {
    const appended = await this.#append(batch, stored);
    return () => {
      for (const publication of batch) this.#answer(publication, appended(publication), null);
    };
  }

  /** A batch with future events, or with events of publishers that are gone. */
  async #storeMixed(batch: readonly Publication[]): Promise<() => void> {
    const wanted = batch.filter((publication) => !this.#refuseIfGivenUp(publication));
    const now = wanted.filter(({ due }) => due === null);
    const later = wanted.flatMap((publication) =>
      publication.due === null ? [] : [{ publication, due: publication.due }],
    );
    const [appended, ...scheduled] = await Promise.all([
      now.length === 0 ? null : this.#append(now),
      ...later.map(({ publication, due }) => outcome(this.#ports.schedule.put(publication, due))),
    ]);
    return () => {
      let next = 0;
      for (const publication of wanted) {
        if (publication.due === null) this.#answer(publication, appended?.(publication) ?? null, null);
        else {
          const put = scheduled[next++] ?? null;
          this.#answer(publication, put, put?.ok === true ? put.value : null);
        }
      }
    };
  }

  /**
   * In one commit. If an organization was deleted meanwhile, in one for each, so that events of the others are stored.
   */
  async #append(
    batch: readonly Publication[],
    stored?: () => void,
  ): Promise<(publication: Publication) => Outcome<unknown>> {
    const { events } = this.#ports;
    const all = await outcome(events.append(batch, stored));
    const organizations = all.ok || !isGone(all.error) ? [] : [...new Set(batch.map(({ origin }) => origin.org))];
    if (organizations.length < 2) return () => all;
    const apart = new Map<string, Outcome<unknown>>();
    for (const org of organizations) {
      apart.set(org, await outcome(events.append(batch.filter(({ origin }) => origin.org === org))));
    }
    return ({ origin }) => apart.get(origin.org) ?? all;
  }

  #answer(publication: Publication, stored: Outcome<unknown> | null, scheduled: string | null): void {
    if (stored === null || stored.ok) publication.publisher.settled(publication, scheduled);
    else publication.publisher.failed(publication, this.#errorFor(stored.error));
  }

  /**
   * a relay that has hung up has told its clients that publishing failed, so the event may not be stored any more.
   */
  #refuseIfGivenUp(publication: Publication): boolean {
    const { publisher } = publication;
    if (!publisher.gone || !publisher.access.relay) return false;
    publisher.failed(publication, new MusterError('upstream_failed', { reason: 'the relay has hung up' }));
    return true;
  }

  #errorFor(error: unknown): MusterError {
    if (error instanceof MusterError) return error;
    this.#ports.log.error({ err: error }, 'events could not be stored');
    return new MusterError('internal', {}, { cause: error });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof MusterError && error.code === 'organization_not_found';
}

type Outcome<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: unknown };

function outcome<T>(work: Promise<T>): Promise<Outcome<T>> {
  return work.then(
    (value) => ({ ok: true, value }),
    (error: unknown) => ({ ok: false, error }),
  );
}
