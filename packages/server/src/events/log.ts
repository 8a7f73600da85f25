import type { EventLog, LoggedEvent, NewEvent, Page, PageLimit } from '@muster/fabric';
import type { Store } from '@muster/store';
import { MusterError } from '@muster/wire';
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

interface Waiting {
  readonly events: readonly NewEvent[];
  resolve(events: readonly LoggedEvent[]): void;
  reject(error: unknown): void;
}

/**
 * The durable log as the root of the fabric sees it.
 * Whatever is appended while a commit is under way goes into the next one.
 */
export class StoredLog implements EventLog {
  readonly #deps: LogDeps;
  #waiting: Waiting[] = [];
  #running: Promise<void> | null = null;

  constructor(deps: LogDeps) {
    this.#deps = deps;
  }

  last(): number {
    return this.#deps.recorder.last;
  }

  append(events: readonly NewEvent[]): Promise<readonly LoggedEvent[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ events, resolve, reject });
      this.#running ??= this.#run();
    });
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
    await this.#running;
  }

  async #run(): Promise<void> {
    do {
      const parts = this.#waiting;
      this.#waiting = [];
      await this.#store(parts);
    } while (this.#waiting.length > 0);
    this.#running = null;
  }

  /** One commit for all of them. */
  async #store(parts: readonly Waiting[]): Promise<void> {
    const events: Recordable[] = [];
    const accepted: { readonly part: Waiting; readonly start: number }[] = [];
    for (const part of parts) {
      const ids = await this.#idsOf(part.events).catch((error: unknown) => part.reject(error));
      if (ids === undefined) continue;
      const unknown = part.events.find(({ origin }) => ids.get(origin.org) === undefined);
      if (unknown !== undefined) {
        part.reject(new MusterError('organization_not_found', { organization: unknown.origin.org }));
        continue;
      }
      accepted.push({ part, start: events.length });
      for (const event of part.events) {
        events.push({ orgId: ids.get(event.origin.org) as string, subject: null, event });
      }
    }
    if (events.length === 0) return;
    try {
      const stored = await this.#deps.recorder.append(events);
      for (const { part, start } of accepted) part.resolve(stored.slice(start, start + part.events.length));
    } catch (error) {
      for (const { part } of accepted) part.reject(error);
    }
  }

  async #idsOf(events: readonly NewEvent[]): Promise<ReadonlyMap<string, string | undefined>> {
    const ids = new Map<string, string | undefined>();
    for (const { origin } of events) {
      if (!ids.has(origin.org)) ids.set(origin.org, await this.#deps.organizationId(origin.org));
    }
    return ids;
  }
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
