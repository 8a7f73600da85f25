import { type LoggedEvent, stamp, textOf } from '@muster/fabric';
import type { Trace } from '../kernel/trace.js';
import { Violation } from '../kernel/violation.js';
import type { Org } from './plan.js';
import type { Attributes } from './selectors.js';

/** An event as it stands in the root's log. */
export interface Logged {
  readonly position: number;
  readonly org: Org;
  readonly attributes: Attributes;
  /** Of our publications. */
  readonly id: number | null;
  /** When the root was told that it is durable. */
  readonly atMs: number;
  /** Its `time`: when it was handed to the log. */
  readonly stampedMs: number;
  /** False: the root crashed before it could tell anybody, so that only replays have it. */
  readonly told: boolean;
}

/** Something that a client has published, and what is known of it. */
export interface Publication {
  readonly id: number;
  readonly client: string;
  readonly org: Org;
  /** Of the client's connections, the one that it was sent on. */
  readonly connection: number;
  /** For a future event, when it is due. */
  readonly dueMs: number | null;
  state: 'sent' | 'confirmed' | 'failed';
  /** The root has read it, for the first time, at that moment. */
  readMs: number | null;
  /** It was lost at a relay: the root must not read it after that (R-5). */
  lostAfterMs: number;
  logged: Logged | null;
}

/** Everything that was published and logged: what deliveries are compared with. */
export class Truth {
  readonly publications = new Map<number, Publication>();
  readonly #byPosition = new Map<number, Logged>();
  readonly #byOrg = new Map<Org, Logged[]>();
  readonly #trace: Trace;
  readonly #report: (violation: Violation) => void;
  /** Ids of the events of each client and connection, as far as they are logged. */
  readonly #order = new Map<string, number>();
  #last = 0;

  constructor(trace: Trace, report: (violation: Violation) => void) {
    this.#trace = trace;
    this.#report = report;
  }

  get last(): number {
    return this.#last;
  }

  get size(): number {
    return this.#byPosition.size;
  }

  at(position: number): Logged | undefined {
    return this.#byPosition.get(position);
  }

  /** In the order of the log. */
  of(org: Org): readonly Logged[] {
    return this.#byOrg.get(org) ?? [];
  }

  published(publication: Publication): void {
    this.publications.set(publication.id, publication);
  }

  /** Events that the log says are durable. `told` false: found in the log by the next life of the root. */
  logged(events: readonly LoggedEvent[], nowMs: number, told: boolean): void {
    for (const event of events) this.#add(event, nowMs, told);
  }

  #add(event: LoggedEvent, atMs: number, told: boolean): void {
    const { position, atMs: stampedMs } = event;
    const { org } = event.event.origin;
    if (position <= this.#last) {
      if (told) this.#fail('positions grow', `${position} after ${this.#last}`);
      return;
    }
    this.#last = position;
    const bytes = stamp(event);
    const tail = textOf(bytes, 0, bytes.length);
    const attributes = readAttributes(tail);
    const number = attributes.get('n');
    const id = number === undefined ? null : Number(number);
    const logged: Logged = { position, org: org as Org, attributes, id, atMs, stampedMs, told };
    this.#trace.say(() => `log: ${position} is ${id === null ? attributes.get('type') : `event ${id}`} of ${org}`);
    this.#byPosition.set(position, logged);
    const all = this.#byOrg.get(logged.org);
    if (all === undefined) this.#byOrg.set(logged.org, [logged]);
    else all.push(logged);
    if (id !== null) this.#publicationLogged(id, logged);
  }

  #publicationLogged(id: number, logged: Logged): void {
    const publication = this.publications.get(id);
    if (publication === undefined) return this.#fail('only what was published', `event ${id} at ${logged.position}`);
    if (publication.logged !== null) {
      return this.#fail('logged once', `event ${id} at ${publication.logged.position} and ${logged.position}`);
    }
    publication.logged = logged;
    if (publication.org !== logged.org)
      this.#fail('organization', `event ${id} of ${publication.org} in ${logged.org}`);
    const source = logged.attributes.get('source');
    const kind = logged.attributes.get('source-kind');
    if (kind !== 'node') this.#fail('source', `event ${id} is of a ${kind}`);
    if (source !== `${publication.org}/${publication.client}`) this.#fail('source', `event ${id} is of ${source}`);
    if (publication.dueMs !== null) {
      if (logged.told && logged.atMs < publication.dueMs) this.#fail('future events', `event ${id} came too early`);
      return;
    }
    const lane = `${publication.client} ${publication.connection}`;
    if ((this.#order.get(lane) ?? 0) > id) this.#fail('order of a publisher', `event ${id} after a later one`);
    this.#order.set(lane, id);
    const { readMs, lostAfterMs } = publication;
    if (logged.told && readMs !== null && readMs > lostAfterMs) {
      this.#fail('R-5', `event ${id} was lost and came ${Math.round(readMs - lostAfterMs)} ms too late all the same`);
    }
  }

  #fail(rule: string, detail: string): void {
    this.#report(new Violation(rule, detail));
  }
}

/** Of a tail; ours have nothing that is escaped but the time. */
function readAttributes(tail: string): Attributes {
  const attributes = new Map<string, string>();
  for (const line of tail.slice(0, tail.indexOf('\n\n')).split('\n')) {
    const colon = line.indexOf(':');
    const name = line.slice(0, colon);
    if (!attributes.has(name)) attributes.set(name, line.slice(colon + 1));
  }
  return attributes;
}
