import { type Clock, every, type Timer, Waker } from '@muster/base';
import { type Organization, organizationsById } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { LayerLog } from '@muster/platform/upkeep';
import type { Store } from '@muster/store';
import { TASK_LIMITS } from '../limits.js';
import { CronMistake } from './cron/index.js';
import { EndedRuns } from './ended-runs.js';
import { type Blackouts, LiveSchedule } from './live-schedule.js';
import { stepSchedule } from './machine.js';
import { allSchedules, scheduleOf, stateOf } from './repository.js';
import type { Turns } from './turns.js';

export interface ScheduleControllerDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly logger: LayerLog;
  readonly turns: Turns;
  readonly blackouts: Blackouts;
  /** Nodes are on their way back to a server that was started again: a push job would find them away. */
  readonly awaitsNodes: () => boolean;
}

/** Between two looks at all schedules: the clock may have been set meanwhile. */
const LOOK_MS = 60_000;
/** Until what failed is tried again. */
const RETRY_MS = 5000;
/** Until it is looked again whether nodes are back. */
const AWAIT_MS = 1000;
/** The clock was set back, and not only corrected. */
const SET_BACK_MS = 3_600_000;

/** Schedules in memory, and when each is looked at: one timer runs to the earliest time of all. */
export class ScheduleController {
  readonly #deps: ScheduleControllerDeps;
  readonly #byOrganization = new Map<string, Map<string, LiveSchedule>>();
  readonly #waker: Waker;
  readonly #endedRuns: EndedRuns;
  #timer: Timer | null = null;
  #looking: Promise<void> | null = null;
  #again = false;
  #lookedAt: number | null = null;
  #started = false;
  #stopped = false;

  constructor(deps: ScheduleControllerDeps) {
    this.#deps = deps;
    this.#waker = new Waker(deps.clock, () => this.look());
    this.#endedRuns = new EndedRuns(deps.recorder, () => this.look());
  }

  // --- which there are

  find(orgId: string, name: string): LiveSchedule | undefined {
    return this.#byOrganization.get(orgId)?.get(name);
  }

  /** In the order of their names. */
  of(orgId: string): readonly LiveSchedule[] {
    const named = [...(this.#byOrganization.get(orgId) ?? [])];
    return named.sort(([a], [b]) => (a < b ? -1 : 1)).map(([, live]) => live);
  }

  add(live: LiveSchedule): void {
    const { org, name } = live.schedule;
    const named = this.#byOrganization.get(org.id) ?? new Map<string, LiveSchedule>();
    this.#byOrganization.set(org.id, named.set(name, live));
    this.changed(live);
  }

  remove(live: LiveSchedule): void {
    const { org, name } = live.schedule;
    live.removed = true;
    this.#endedRuns.forget(live);
    const named = this.#byOrganization.get(org.id);
    named?.delete(name);
    if (named?.size === 0) this.#byOrganization.delete(org.id);
  }

  /** The organization was deleted, and what was stored with it. */
  forget(orgId: string): void {
    for (const live of this.of(orgId)) this.remove(live);
  }

  *#all(): Iterable<LiveSchedule> {
    for (const named of this.#byOrganization.values()) yield* named.values();
  }

  // --- life cycle

  async load(): Promise<void> {
    const { store } = this.#deps;
    const organizations = await organizationsById(store.read);
    for (const row of await allSchedules(store.read)) {
      const org: Organization | undefined = organizations.get(row.org_id);
      if (org !== undefined) this.#restore(row, org);
    }
  }

  #restore(row: Parameters<typeof scheduleOf>[0], org: Organization): void {
    try {
      this.add(new LiveSchedule(scheduleOf(row, org), stateOf(row), this.#deps.blackouts));
    } catch (error) {
      if (!(error instanceof CronMistake)) throw error;
      // A time zone that this server does not know; nothing else can be wrong with what was stored.
      const { id, name } = row;
      this.#deps.logger.error({ err: error, schedule: id, name }, 'a schedule cannot be read and does not run');
    }
  }

  start(): void {
    this.#started = true;
    this.#endedRuns.start();
    this.#timer = every(this.#deps.clock, LOOK_MS, () => this.look());
    this.look();
  }

  /** Waits for what is being started. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#waker.stop();
    this.#endedRuns.stop();
    await this.#looking;
  }

  // --- time

  /** One of them stands otherwise than before. */
  changed(live: LiveSchedule): void {
    if (live.removed) return;
    const { waitingAt, last } = live.state;
    this.#endedRuns.waits(live, waitingAt === null ? null : (last?.run ?? null));
    this.#arm(live);
  }

  #arm({ wakeAt }: LiveSchedule): void {
    if (this.#started && !this.#stopped && wakeAt !== null) this.#waker.by(wakeAt);
  }

  /** Starts what is due. */
  look(): void {
    if (!this.#started || this.#stopped) return;
    this.#again = true;
    if (this.#looking !== null) return;
    this.#looking = this.#lookWhileAsked().finally(() => {
      this.#looking = null;
    });
  }

  async #lookWhileAsked(): Promise<void> {
    while (this.#again && !this.#stopped) {
      this.#again = false;
      await this.#lookAtAll();
    }
    for (const live of this.#all()) this.#arm(live);
  }

  async #lookAtAll(): Promise<void> {
    const { clock } = this.#deps;
    const now = clock.now();
    const setBack = this.#lookedAt === null || now < this.#lookedAt - SET_BACK_MS;
    this.#lookedAt = now;
    if (setBack) await Promise.all([...this.#all()].map((live) => live.inTurn(async () => remind(live, now))));
    const awaits = this.#deps.awaitsNodes();
    const due: LiveSchedule[] = [];
    for (const live of this.#all()) {
      const { state, wakeAt, schedule } = live;
      if (state.waitingAt === null && (wakeAt === null || wakeAt > now)) continue;
      if (awaits && schedule.work.kind === 'push') {
        live.retryAt = now + AWAIT_MS;
        this.#waker.by(live.retryAt);
      } else due.push(live);
    }
    let next = 0;
    const worker = async (): Promise<void> => {
      for (let live = due[next++]; live !== undefined && !this.#stopped; live = due[next++]) await this.#lookAt(live);
    };
    await Promise.all(Array.from({ length: TASK_LIMITS.schedulesAtOnce }, worker));
  }

  async #lookAt(live: LiveSchedule): Promise<void> {
    const { clock, logger, turns } = this.#deps;
    try {
      await live.inTurn(() => turns.look(live));
    } catch (error) {
      if (this.#stopped) return;
      logger.warn({ err: error, schedule: live.schedule.id }, 'a schedule could not be looked at; trying again');
      live.retryAt = clock.now() + RETRY_MS;
    }
    this.changed(live);
  }
}

/** The clock is another than it was. That something is due at another time is stored when it is run. */
function remind(live: LiveSchedule, now: number): void {
  live.retryAt = 0;
  live.state = stepSchedule(live.state, { type: 'clock' }, live.rules, now).state;
}
