import type { EventLog, LoggedEvent, NewEvent, Page, PageLimit } from '@muster/fabric';
import type { Store } from '@muster/store';
import { MusterError } from '../errors.js';
import { positionBefore, readPage } from './log-reads.js';
import type { Recordable } from './log-rows.js';
import type { Recorder } from './recorder.js';
import type { Retention } from './retention.js';
import { sizeOf, withinSize } from './stored-event.js';

/** Id of the organization of this name; undefined when there is none (any more). */
export type OrganizationId = (name: string) => Promise<string | undefined>;

export interface LogDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly retention: Pick<Retention, 'prunedThrough'>;
  readonly organizationId: OrganizationId;
  /** Of lines and body of an event together, as it travels. */
  readonly maxSize: number;
}

/** The durable log as the root of the fabric sees it. */
export class StoredLog implements EventLog {
  readonly #deps: LogDeps;
  /** Settles when what was appended last has its turn, and when everything until then is told or refused. */
  #turn: Promise<unknown> = Promise.resolve();
  #told: Promise<unknown> = Promise.resolve();

  constructor(deps: LogDeps) {
    this.#deps = deps;
  }

  last(): number {
    return this.#deps.recorder.last;
  }

  append(events: readonly NewEvent[], stored?: () => void): Promise<readonly LoggedEvent[]> {
    // Nobody overtakes others while their organizations are looked up.
    const recordable = this.#turn.then(() => this.#recordable(events));
    const told = recordable.then((all) => this.#deps.recorder.append(all, stored));
    this.#turn = settled(recordable);
    // It may be refused while those before are still being stored.
    const before = this.#told;
    this.#told = settled(told).then(() => before);
    return told;
  }

  onStored(listener: (events: readonly LoggedEvent[]) => void): () => void {
    return this.#deps.recorder.onStored(listener);
  }

  async read(after: number, org: string, limit: PageLimit): Promise<Page> {
    const { store, recorder, retention, organizationId, maxSize } = this.#deps;
    // What is stored and not told yet comes by way of the listeners.
    const upTo = recorder.last;
    const id = await organizationId(org);
    if (id === undefined || after >= upTo) {
      return { events: [], through: Math.max(after, upTo), prunedThrough: retention.prunedThrough };
    }
    const page = await readPage(store.read, { id, name: org }, { after, upTo }, limit);
    // As it is afterwards: what went while it was read is missing from the page, or may be.
    const { prunedThrough } = retention;
    const events = page.events.map(({ position, at: atMs, event }) => ({
      position,
      atMs,
      event: withinSize(event, maxSize),
    }));
    return { ...cut(events, page.through, limit.bytes), prunedThrough };
  }

  async positionBefore(atMs: number): Promise<number> {
    return Math.min((await positionBefore(this.#deps.store.read, atMs)) ?? this.last(), this.last());
  }

  /** Resolves when everything that was appended is stored. */
  async stop(): Promise<void> {
    await this.#told;
  }

  async #recordable(events: readonly NewEvent[]): Promise<Recordable[]> {
    const ids = new Map<string, string>();
    for (const { origin } of events) if (!ids.has(origin.org)) ids.set(origin.org, await this.#idOf(origin.org));
    return events.map((event) => ({ orgId: ids.get(event.origin.org) ?? '', subject: null, event }));
  }

  async #idOf(organization: string): Promise<string> {
    const id = await this.#deps.organizationId(organization);
    if (id === undefined) throw new MusterError('organization_not_found', { organization });
    return id;
  }
}

/** Either way. Whoever began it is told how it ended. */
function settled(work: Promise<unknown>): Promise<unknown> {
  return work.catch(() => undefined);
}

/** One at least. */
function cut(events: readonly LoggedEvent[], through: number, most: number): Pick<Page, 'events' | 'through'> {
  let bytes = 0;
  for (const [index, event] of events.entries()) {
    bytes += sizeOf(event.event);
    if (index > 0 && bytes > most) {
      return { events: events.slice(0, index), through: events[index - 1]?.position ?? through };
    }
  }
  return { events, through };
}
