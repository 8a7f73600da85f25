import type { Clock } from '@muster/base';
import type { Identity, Organization, RandomBytes } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Agreement } from '@muster/push';
import { deleteSome, type Store, type Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { TASK_LIMITS } from '../limits.js';
import type { By, StoredAlong } from '../ports.js';
import type { ScheduleController } from './controller.js';
import { scheduleChanged, scheduleCreated, scheduleRemoved, scheduleStepped } from './events.js';
import { noteMissed } from './history.js';
import { type Blackouts, LiveSchedule, rulesOf } from './live-schedule.js';
import { newSchedule, type ScheduleEvent, stepSchedule } from './machine.js';
import { saveSchedule, saveState, workOf } from './repository.js';
import type { Turns } from './turns.js';
import type { Owner, Schedule, Timing, Work, WorkBrief } from './types.js';

export interface NewSchedule extends Timing {
  readonly name: string;
  readonly work: Work;
  readonly paused: boolean;
}

/** Whoever makes or changes one, and what of it was granted. */
export interface ScheduleBy extends By {
  /** To exactly this; absent: nobody else has agreed. */
  readonly agreement?: Agreement;
  /** What is stored with it, by its id. */
  readonly along?: (id: string) => StoredAlong;
}

export type ScheduleChanges = Partial<Timing> & { readonly work?: Work };

export interface ScheduleAdministrationDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly controller: ScheduleController;
  readonly turns: Turns;
  readonly blackouts: Blackouts;
}

/** Of the command of a push job, in lists. */
const COMMAND_SHOWN = 200;

/** What people do to schedules. What is handed in was checked: expressions, zones, work, rights. */
export class ScheduleAdministration {
  readonly #deps: ScheduleAdministrationDeps;
  #last: Promise<unknown> = Promise.resolve();

  constructor(deps: ScheduleAdministrationDeps) {
    this.#deps = deps;
  }

  /** @throws MusterError `schedule_exists`, `too_many_schedules`. */
  create(org: Organization, asked: NewSchedule, by: ScheduleBy): Promise<LiveSchedule> {
    // One at a time, so that no two have one name.
    const made = this.#last.then(() => this.#create(org, asked, by));
    this.#last = made.catch(() => undefined);
    return made;
  }

  async #create(org: Organization, { work, paused, ...asked }: NewSchedule, by: ScheduleBy): Promise<LiveSchedule> {
    const { recorder, clock, random, controller, blackouts } = this.#deps;
    if (controller.find(org.id, asked.name) !== undefined) {
      throw new MusterError('schedule_exists', { name: asked.name });
    }
    if (controller.of(org.id).length >= TASK_LIMITS.schedules) {
      throw new MusterError('too_many_schedules', { limit: TASK_LIMITS.schedules });
    }
    const now = clock.now();
    const id = Buffer.from(random(12)).toString('hex');
    const owner = ownerOf(by);
    const about = { id, org, owner, agreement: by.agreement ?? null, createdAt: now, updatedAt: now };
    const schedule: Schedule = { ...asked, ...about, work: briefOf(work) };
    const reason = paused ? `paused by ${owner.name}` : null;
    const live = new LiveSchedule(
      schedule,
      newSchedule(rulesOf(schedule, blackouts(schedule)), now, reason),
      blackouts,
    );
    const { writes: others = [], events = [] } = by.along?.(id) ?? {};
    const writes = [saveSchedule(schedule, live.state, work), ...(by.record ?? []), ...others];
    await recorder.commit(writes, [scheduleCreated(schedule, owner.name), ...events]);
    controller.add(live);
    return live;
  }

  /** From now on it runs for whoever changed it: nobody can make it run something else with the rights of others. */
  change(live: LiveSchedule, { work, ...timing }: ScheduleChanges, by: ScheduleBy): Promise<void> {
    return this.#inTurn(live, async () => {
      const { store, clock, blackouts } = this.#deps;
      const kept = work ?? (await workOf(store.read, live.schedule.id));
      if (kept === undefined) throw gone(live);
      const now = clock.now();
      const owner = ownerOf(by);
      const about = { owner, agreement: by.agreement ?? null, updatedAt: now };
      const schedule: Schedule = { ...live.schedule, ...timing, ...about, work: briefOf(kept) };
      // A task does not wait for a push job, nor the other way round.
      const before = kept.kind === live.schedule.work.kind ? live.state : { ...live.state, last: null };
      const step = stepSchedule(before, { type: 'changed' }, rulesOf(schedule, blackouts(schedule)), now);
      const changed = [...Object.keys(timing), ...(work === undefined ? [] : [work.kind])];
      const told = scheduleChanged(schedule, step.state.status, changed, owner.name);
      const missed = noteMissed(schedule, step.effects, now);
      const { writes: others = [], events = [] } = by.along?.(schedule.id) ?? {};
      const writes = [saveSchedule(schedule, step.state, kept), ...missed, ...(by.record ?? []), ...others];
      await this.#deps.recorder.commit(writes, [...scheduleStepped(schedule, step.effects), told, ...events]);
      live.change(schedule, step.state);
    });
  }

  pause(live: LiveSchedule, by: By): Promise<void> {
    const event = { type: 'pause', reason: `paused by ${by.identity.name}` } as const;
    return this.#inTurn(live, () => this.#step(live, event, by));
  }

  /** One that was held runs for whoever resumes it: that it was held may be for want of rights. */
  resume(live: LiveSchedule, by: By): Promise<void> {
    if (live.state.status === 'held') return this.change(live, {}, by);
    return this.#inTurn(live, () => this.#step(live, { type: 'resume' }, by));
  }

  async #step(live: LiveSchedule, event: ScheduleEvent, by: By): Promise<void> {
    const { recorder, clock } = this.#deps;
    const { schedule } = live;
    const now = clock.now();
    const { state, effects } = stepSchedule(live.state, event, live.rules, now);
    if (state.status === live.state.status) return;
    const told = scheduleChanged(schedule, state.status, ['state'], by.identity.name);
    const writes = [saveState(schedule.id, state), ...noteMissed(schedule, effects, now), ...(by.record ?? [])];
    await recorder.commit(writes, [...scheduleStepped(schedule, effects), told]);
    live.state = state;
  }

  /** What it has started goes on. */
  remove(live: LiveSchedule, by: By): Promise<void> {
    return this.#inTurn(live, async () => {
      const { recorder, controller } = this.#deps;
      const { schedule } = live;
      await recorder.transact(async (trx, record, write) => {
        await trx.deleteFrom('schedules').where('id', '=', schedule.id).execute();
        const where = ['schedule_id', [schedule.id]] as const;
        const most = TASK_LIMITS.historyAtOnce;
        await deleteSome(trx, { table: 'schedule_runs', key: ['schedule_id', 'id'], where, most });
        record([scheduleRemoved(schedule, by.identity.name)]);
        write(by.record ?? []);
      });
      controller.remove(live);
    });
  }

  /** The id of what was started. @param record What is stored with it. */
  run(live: LiveSchedule, as: Identity, record: (run: string) => Write): Promise<string> {
    return this.#inTurn(live, () => this.#deps.turns.runNow(live, as, record));
  }

  #inTurn<T>(live: LiveSchedule, work: () => Promise<T>): Promise<T> {
    return live.inTurn(async () => {
      if (live.removed) throw gone(live);
      const done = await work();
      this.#deps.controller.changed(live);
      return done;
    });
  }
}

function gone({ schedule }: LiveSchedule): MusterError {
  return new MusterError('not_found', { kind: 'schedule', name: schedule.name });
}

function ownerOf({ identity: { principalId, type, name } }: By): Owner {
  return { principalId, type, name };
}

function briefOf(work: Work): WorkBrief {
  if (work.kind === 'task') return { kind: 'task', queueId: work.queueId };
  return { kind: 'push', command: work.command.slice(0, COMMAND_SHOWN) };
}
