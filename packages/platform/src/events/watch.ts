import type { Clock, Timer } from '@muster/base';
import { allowsEvent, Delivery, type EventAccess } from '@muster/fabric';
import { compileText, parseSelector, type TextAttributes } from '@muster/selector';
import { fence, type Lease, type Leases, type Store, upsert, type Write } from '@muster/store';
import { principalNow } from '../auth/principal-now.js';
import type { AuthRepository } from '../auth/repository.js';
import type { Identity, Organization } from '../auth/types.js';
import { endedBefore, readBeyond } from '../log/log-reads.js';
import type { Recorder } from '../log/recorder.js';
import { type StoredEvent, withinSize } from '../log/stored-event.js';
import '../schema/tables.js';
import { LeaseKeeper, type Turn } from '../upkeep/lease-keeper.js';
import type { LayerLog } from '../upkeep/logging.js';
import { eventAccess, type Followers } from './access.js';
import { rightsIn } from './held-logins.js';
import { EVENT_LIMITS } from './limits.js';

/** Somebody who has events chosen by a selector, to do something about each. */
export interface Chooser {
  readonly id: string;
  readonly org: Organization;
  readonly selector: string;
  /** Of events after this position. */
  readonly since: number;
  /** Events are followed with their rights, as they are then. */
  readonly owner: Pick<Identity, 'name' | 'principalId'>;
}

export interface Chosen<C extends Chooser> {
  readonly chooser: C;
  readonly type: string;
  readonly event: StoredEvent;
}

export interface EventWatchDeps<C extends Chooser> {
  readonly store: Pick<Store, 'read' | 'hints' | 'commit'>;
  readonly leases: Leases;
  readonly clock: Clock;
  readonly log: LayerLog;
  readonly recorder: Pick<Recorder, 'last' | 'onStored'>;
  readonly repository: AuthRepository;
  readonly followers: Followers;
  /** Of an event as it travels. */
  readonly maxSize: number;
  /** Of the lease, of the mark of how far the log was read, and of the hint that choosers were changed. */
  readonly name: 'notifications' | 'rules';
  /** Those of all organizations. */
  readonly choosers: () => Promise<readonly C[]>;
  /**
   * What is done about the events of a piece of the log, in their order. What fails is done again, with the same events.
   * @param stamp Stored with what is done, it says that the piece was read; nobody without the lease stores it.
   */
  readonly act: (chosen: readonly Chosen<C>[], stamp: readonly Write[]) => Promise<Acted>;
}

/**
 * `stored`: with the stamp; `done`: without it. `stale`: a chooser is not any more as it was read, and nothing was done; they are read
 * again, and so is the piece.
 */
export type Acted = 'stored' | 'done' | 'stale';

/** Looks at every event for those who are to do something about it: one process for all, as long as it holds the lease. */
export class EventWatch<C extends Chooser> {
  readonly #keeper: LeaseKeeper;

  constructor(deps: EventWatchDeps<C>) {
    const begin = async (lease: Lease): Promise<Turn> => new Watch(deps, lease).start();
    this.#keeper = new LeaseKeeper({ ...deps, begin });
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
}

const saveMark = upsert('event_marks', { name: 'text', position: 'integer' }, ['name']);

interface Watched<C> {
  readonly chooser: C;
  readonly matches: (event: TextAttributes) => boolean;
}

/** Reads the log from where it was last, under a lease, whenever something was stored. */
class Watch<C extends Chooser> implements Turn {
  readonly #deps: EventWatchDeps<C>;
  readonly #fence: Write;
  readonly #delivery = new Delivery();
  /** By organization. Null: to be read. */
  #watched: ReadonlyMap<string, readonly Watched<C>[]> | null = null;
  /** By chooser: what its owner may follow; null: nothing. Until rights change. */
  readonly #access = new Map<string, EventAccess | null>();
  /** The end of a transaction. */
  #through = 0;
  #saved = 0;
  #save: Timer | null = null;
  #again = false;
  #looking: Promise<void> | null = null;
  #retry: Timer | null = null;
  readonly #deaf: (() => void)[] = [];
  #stopped = false;

  constructor(deps: EventWatchDeps<C>, lease: Lease) {
    this.#deps = deps;
    this.#fence = fence(lease);
  }

  async start(): Promise<this> {
    const { store, recorder, repository, name } = this.#deps;
    const rows = store.read.selectFrom('event_marks').select('position').where('name', '=', name);
    this.#through = (await rows.executeTakeFirst())?.position ?? 0;
    this.#saved = this.#through;
    this.#deaf.push(
      recorder.onStored(() => {
        if (this.#watched === null || this.#watched.size > 0) this.#look();
      }),
      store.hints.listen(name, () => {
        this.#watched = null;
        this.#access.clear();
        this.#look();
      }),
      repository.onChanged((scope) => {
        if (scope === 'anything') this.#access.clear();
      }),
    );
    this.#look();
    return this;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const deaf of this.#deaf) deaf();
    this.#retry?.cancel();
    this.#save?.cancel();
    await this.#looking;
    await this.#saveMark().catch(() => undefined);
  }

  #look(): void {
    this.#again = true;
    if (this.#looking !== null || this.#retry !== null || this.#stopped) return;
    this.#looking = this.#lookWhileAsked().finally(() => {
      this.#looking = null;
      // Asked for at the last moment.
      if (this.#again) this.#look();
    });
  }

  async #lookWhileAsked(): Promise<void> {
    const { clock, log, name } = this.#deps;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        const watched = await this.#read();
        if (watched.size > 0) while (!this.#stopped && (await this.#page(watched)));
      }
    } catch (error) {
      if (this.#stopped) return;
      log.warn({ err: error, watch: name }, 'events could not be looked at; trying again');
      this.#again = false;
      this.#retry = clock.after(EVENT_LIMITS.watchAgainMs, () => {
        this.#retry = null;
        this.#look();
      });
    }
  }

  /** Those that choose; and where to go on, which may be later than before. */
  async #read(): Promise<ReadonlyMap<string, readonly Watched<C>[]>> {
    if (this.#watched !== null) return this.#watched;
    const { store, choosers } = this.#deps;
    const watched = new Map<string, Watched<C>[]>();
    // What is changed while this is read is read again.
    this.#watched = watched;
    try {
      const all = await choosers();
      const least = all.reduce((first, { since }) => Math.min(first, since), Number.POSITIVE_INFINITY);
      if (all.length > 0) this.#through = Math.max(this.#through, await endedBefore(store.read, least));
      for (const chooser of all) {
        const one = { chooser, matches: compileText(parseSelector(chooser.selector, { sugar: false })) };
        const { id } = chooser.org;
        watched.set(id, [...(watched.get(id) ?? []), one]);
      }
      return watched;
    } catch (error) {
      this.#watched = null;
      throw error;
    }
  }

  /** False: there was nothing more. */
  async #page(watched: ReadonlyMap<string, readonly Watched<C>[]>): Promise<boolean> {
    const { store, maxSize, repository, act } = this.#deps;
    const names = async (id: string) => (await repository.organizationById(id))?.name ?? null;
    const { events, through } = await readBeyond(store.read, this.#through, names);
    if (through === this.#through) return false;
    const chosen: Chosen<C>[] = [];
    for (const { position, at: atMs, event: recorded, orgId, subject } of events) {
      for (const { chooser, matches } of watched.get(orgId) ?? []) {
        if (position <= chooser.since) continue;
        const event: StoredEvent = { position, atMs, event: withinSize(recorded, maxSize), orgId, subject, recorded };
        this.#delivery.show(event);
        if (!matches(this.#delivery)) continue;
        const type = this.#delivery.get('type') ?? '';
        const access = await this.#accessOf(chooser);
        if (access === null) continue;
        if (allowsEvent(access.subscribe, type, (name) => this.#delivery.get(name)))
          chosen.push({ chooser, type, event });
      }
    }
    const acted = chosen.length > 0 ? await act(chosen, [this.#fence, this.#mark(through)]) : 'done';
    if (acted === 'stale') {
      this.#watched = null;
      this.#again = true;
      return false;
    }
    this.#through = through;
    if (acted === 'stored') this.#saved = through;
    else this.#saveSoon();
    return true;
  }

  #mark(position: number): Write {
    return saveMark({ name: this.#deps.name, position });
  }

  /** As its owner may now; null: nothing. */
  async #accessOf({ id, org, owner }: C): Promise<EventAccess | null> {
    const { repository, followers } = this.#deps;
    let access = this.#access.get(id);
    if (access === undefined) {
      const identity = await principalNow(repository, org, owner);
      const rights = await rightsIn(repository, org.id);
      access = identity === null ? null : eventAccess(identity, org, rights, followers);
      this.#access.set(id, access);
    }
    return access;
  }

  #saveSoon(): void {
    if (this.#saved === this.#through || this.#stopped) return;
    this.#save ??= this.#deps.clock.after(EVENT_LIMITS.watchSaveMs, () => {
      this.#save = null;
      this.#saveMark().catch((error: unknown) => {
        this.#deps.log.warn({ err: error }, 'how far events were looked at could not be stored');
        this.#saveSoon();
      });
    });
  }

  async #saveMark(): Promise<void> {
    const position = this.#through;
    if (this.#saved === position) return;
    await this.#deps.store.commit([this.#fence, this.#mark(position)]);
    this.#saved = position;
  }
}
