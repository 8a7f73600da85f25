import type { Clock, Timer } from '@muster/base';
import { type Auth, type Identity, organizationsById, principalNow, type RandomBytes } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { LayerLog } from '@muster/platform/upkeep';
import { GuardFailed, type Store, type Write } from '@muster/store';
import { STOPPING } from '../controller/acts.js';
import { MusterError } from '../errors.js';
import { Ids } from '../ids.js';
import { TASK_LIMITS } from '../limits.js';
import type { Acted, By, TaskController } from '../ports.js';
import { tasksById } from '../repository/reads.js';
import { readTaskQuery } from '../search/query.js';
import { queuesById } from '../search/queues.js';
import { searchTasks } from '../search/search.js';
import { bulkTold } from './events.js';
import { addBulkRun, bulkRunOf, bulkStateOf, findBulkRun, runningBulkRuns, saveBulkState } from './repository.js';
import { NOT_THERE, NOTHING, Tally } from './tally.js';
import type { BulkRun, BulkState, BulkStatus } from './types.js';

export interface BulkRunnerDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly logger: LayerLog;
  readonly auth: Pick<Auth, 'authorize' | 'organizations' | 'repository'>;
  readonly controller: Pick<TaskController, 'act' | 'queue' | 'queues'>;
}

/** What is asked for; it was checked. */
export type NewBulkRun = Omit<BulkRun, 'createdAt' | 'id' | 'owner'>;

/** One that goes on. */
interface Live {
  readonly run: BulkRun;
  state: BulkState;
  /** Who wants it to stop, and those who wait until it is so; null: nobody. */
  stop: { readonly by: By; waiting: Waiting[] } | null;
  /** It is being carried out, and heeds who wants it to stop. */
  going: boolean;
  over: Promise<void>;
}

interface Waiting {
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

interface Page {
  readonly ids: readonly string[];
  /** Named, and not there. */
  readonly missing: readonly Acted[];
  /** Where the next one begins. */
  readonly place: string | null;
  readonly last: boolean;
}

/** Until what could not be stored is tried again. */
const RETRY_MS = 1000;
/** Between two events that tell how far one is. */
const TELL_MS = 500;
/** How long pages that are being acted on are waited for at a stop. */
const STOP_MS = 5000;

/**
 * Carries out actions on many tasks, page by page. Where each is is stored in the same transaction as what it did, so that after
 * a crash it goes on, and acts on no task twice. It runs with the rights of whoever asked for it, as they are before each page.
 */
export class BulkRunner {
  readonly #deps: BulkRunnerDeps;
  readonly #live = new Map<string, Live>();
  readonly #pauses = new Set<() => void>();
  #ids: Ids | null = null;
  #stopped = false;

  constructor(deps: BulkRunnerDeps) {
    this.#deps = deps;
  }

  /** Those that went on when the server ended. */
  async load(): Promise<void> {
    const { store, clock, random } = this.#deps;
    const last = await store.read
      .selectFrom('task_bulk_runs')
      .select('id')
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    this.#ids = new Ids(clock, random, last?.id ?? null);
    const organizations = await organizationsById(store.read);
    for (const row of await runningBulkRuns(store.read)) {
      const org = organizations.get(row.org_id);
      if (org !== undefined) this.#add(bulkRunOf(row, org), bulkStateOf(row));
    }
  }

  start(): void {
    for (const live of this.#live.values()) this.#begin(live);
  }

  /** Waits for the pages that are being acted on; the rest is for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#waitNoMore();
    const over = Promise.all([...this.#live.values()].map((live) => live.over));
    // What waits for a database that is away is done when it is back, or again: its place is stored with it.
    await Promise.race([over, this.#waited(STOP_MS)]);
    this.#waitNoMore();
  }

  /** The organization was deleted, and what was stored with it. */
  forget(orgId: string): void {
    for (const [id, { run }] of this.#live) if (run.org.id === orgId) this.#live.delete(id);
  }

  /**
   * Resolves when it is stored that it is to be done.
   * @throws MusterError `too_many_bulk_runs`, `store_unavailable`.
   */
  async add(asked: NewBulkRun, identity: Identity, by: (id: string) => By): Promise<Pick<Live, 'run' | 'state'>> {
    const { recorder, clock } = this.#deps;
    if (this.#ids === null) throw new Error('not loaded');
    const going = [...this.#live.values()].filter(({ run }) => run.org.id === asked.org.id).length;
    if (going >= TASK_LIMITS.bulkRuns) throw new MusterError('too_many_bulk_runs', { limit: TASK_LIMITS.bulkRuns });
    const id = this.#ids.next();
    const { principalId, type, name } = identity;
    const run: BulkRun = { ...asked, id, owner: { principalId, type, name }, createdAt: clock.now() };
    const state: BulkState = { status: 'running', reason: null, place: null, counts: NOTHING, endedAt: null };
    // It counts from here on: two that come together are not both the last that may be.
    const live = this.#add(run, state);
    try {
      await recorder.commit([addBulkRun(run, state), ...(by(id).record ?? [])], [bulkTold(run, state)]);
    } catch (error) {
      this.#live.delete(id);
      throw error;
    }
    this.#begin(live);
    return live;
  }

  /** As it is now; undefined: it does not run. */
  running(id: string): Pick<Live, 'run' | 'state'> | undefined {
    return this.#live.get(id);
  }

  /** Resolves when it is stored that no further task is acted on; false: it does not run any more. @throws MusterError `store_unavailable` */
  async end(id: string, by: By): Promise<boolean> {
    const live = this.#live.get(id);
    if (live === undefined || !live.going) return false;
    live.stop ??= { by, waiting: [] };
    const { waiting } = live.stop;
    this.#waitNoMore();
    await new Promise<void>((resolve, reject) => waiting.push({ resolve, reject }));
    return true;
  }

  #add(run: BulkRun, state: BulkState): Live {
    const live: Live = { run, state, stop: null, going: false, over: Promise.resolve() };
    this.#live.set(run.id, live);
    return live;
  }

  #begin(live: Live): void {
    live.going = true;
    live.over = this.#carryOut(live).finally(() => {
      if (live.state.status !== 'running') this.#live.delete(live.run.id);
    });
  }

  async #carryOut(live: Live): Promise<void> {
    const { clock, logger } = this.#deps;
    const { run } = live;
    let toldAt = clock.monotonic();
    let sure = true;
    while (this.#goesOn(live)) {
      try {
        if (!sure) live.state = await this.#stored(run);
        sure = true;
        await this.#step(live);
        if (live.state.status === 'running' && clock.monotonic() - toldAt >= TELL_MS) {
          toldAt = clock.monotonic();
          await this.#store(run, live.state);
        }
      } catch (error) {
        // The organization is gone, and this with it.
        if (error instanceof GuardFailed) this.#live.delete(run.id);
        else logger.warn({ err: error, bulk: run.id }, 'an action on many tasks cannot go on; trying again');
        for (const { reject } of live.stop?.waiting.splice(0) ?? []) reject(error);
        sure = false;
        await this.#pause();
      }
    }
    live.going = false;
    for (const { resolve } of live.stop?.waiting.splice(0) ?? []) resolve();
  }

  #goesOn(live: Live): boolean {
    if (this.#live.get(live.run.id) !== live || live.state.status !== 'running') return false;
    return !this.#stopped || (live.stop !== null && live.stop.waiting.length > 0);
  }

  /** One page, or the end. */
  async #step(live: Live): Promise<void> {
    const { run, state, stop } = live;
    if (stop !== null) {
      return this.#over(live, 'stopped', `stopped by ${stop.by.identity.name}`, stop.by.record);
    }
    const identity = await principalNow(this.#deps.auth.repository, run.org, run.owner);
    if (identity === null) {
      return this.#over(
        live,
        'failed',
        `${run.owner.name}, who wanted it, does not belong to the organization any more`,
      );
    }
    const { authorize } = this.#deps.auth;
    const may =
      run.queueId === null
        ? await authorize(identity, run.org, 'task:write')
        : await authorize(identity, run.org, 'queue:write', run.queueId);
    if (!may) return this.#over(live, 'failed', `${run.owner.name}, who wanted it, may not do it any more`);
    let page: Page;
    try {
      page = await this.#page(live);
    } catch (error) {
      // A queue of which its selector speaks is gone, say.
      if (!(error instanceof MusterError) || error.code === 'store_unavailable') throw error;
      return this.#over(live, 'failed', error.message);
    }
    const after = (acted: readonly Acted[]): BulkState => ({
      ...state,
      place: page.place,
      counts: new Tally(state.counts).count([...page.missing, ...acted]).counts,
    });
    if (page.ids.length > 0) {
      const how = {
        identity,
        record: [this.#deps.auth.organizations.present(run.org)],
        along: (acted: readonly Acted[]) => [saveBulkState(run.id, after(acted))],
      };
      const code = run.code === null ? {} : { code: run.code };
      const acted = await this.#deps.controller.act(run.org, page.ids, run.action, { ...how, ...code });
      if (acted.every(({ refused }) => refused === STOPPING)) throw new Error('tasks are not acted on any more');
      live.state = after(acted);
    } else {
      live.state = after([]);
    }
    if (page.last) await this.#over(live, 'done', null);
  }

  async #page({ run, state }: Pick<Live, 'run' | 'state'>): Promise<Page> {
    const { store, controller } = this.#deps;
    const { about, org, queueId } = run;
    if (about.ids !== null) return this.#named(run, about.ids, Number(state.place ?? 0));
    const query = readTaskQuery(about.selector ?? '', () => controller.queues(org.id), queueId ?? undefined);
    const { rows, next } = await searchTasks(
      { read: store.read, queueOf: queuesById(controller, org.id) },
      org.id,
      query,
      {
        after: state.place,
        until: about.until,
        order: 'asc',
        limit: TASK_LIMITS.actedAtOnce,
      },
    );
    return {
      ids: rows.map(({ id }) => id),
      missing: [],
      place: next ?? rows.at(-1)?.id ?? state.place,
      last: next === null,
    };
  }

  async #named({ org, queueId }: BulkRun, named: readonly string[], from: number): Promise<Page> {
    const to = from + TASK_LIMITS.actedAtOnce;
    const ids = named.slice(from, to);
    const there = await tasksById(this.#deps.store.read, org.id, ids);
    const meant = new Set(there.filter(({ queue_id }) => queueId === null || queue_id === queueId).map(({ id }) => id));
    const missing = ids.filter((id) => !meant.has(id)).map((id) => ({ id, refused: NOT_THERE }));
    return { ids: [...meant], missing, place: String(to), last: to >= named.length };
  }

  async #over(live: Live, status: BulkStatus, reason: string | null, record: readonly Write[] = []): Promise<void> {
    const { run } = live;
    const state = { ...live.state, status, reason, endedAt: this.#deps.clock.now() };
    await this.#store(run, state, record);
    live.state = state;
  }

  /** @throws GuardFailed The organization is gone. */
  async #store(run: BulkRun, state: BulkState, record: readonly Write[] = []): Promise<void> {
    const { recorder, auth } = this.#deps;
    const present = auth.organizations.present(run.org);
    await recorder.commit([saveBulkState(run.id, state), present, ...record], [bulkTold(run, state)]);
  }

  /** Whether the last page was stored is not known to whoever heard of an error. */
  async #stored({ org, id }: BulkRun): Promise<BulkState> {
    const row = await findBulkRun(this.#deps.store.read, org.id, id);
    if (row === undefined) throw new Error('it is not stored any more');
    return bulkStateOf(row);
  }

  #pause(): Promise<void> {
    return this.#stopped ? Promise.resolve() : this.#waited(RETRY_MS);
  }

  #waitNoMore(): void {
    for (const goOn of this.#pauses) goOn();
  }

  /** Or until somebody wants one of them to stop. */
  async #waited(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer: Timer = this.#deps.clock.after(ms, () => goOn());
      const goOn = (): void => {
        timer.cancel();
        this.#pauses.delete(goOn);
        resolve();
      };
      this.#pauses.add(goOn);
    });
  }
}
