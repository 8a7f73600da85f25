import type { Clock } from '@muster/base';
import type { Identity, Organization, RandomBytes } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Store, Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { TASK_LIMITS } from '../limits.js';
import type { By } from '../ports.js';
import type { ScheduleController } from './controller.js';
import { scheduleChanged, scheduleCreated, scheduleRemoved, scheduleStepped } from './events.js';
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
  create(org: Organization, asked: NewSchedule, by: By): Promise<LiveSchedule> {
    // One at a time, so that no two have one name.
    const made = this.#last.then(() => this.#create(org, asked, by));
    this.#last = made.catch(() => undefined);
    return made;
  }

  async #create(org: Organization, { work, paused, ...asked }: NewSchedule, by: By): Promise<LiveSchedule> {
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
    const schedule: Schedule = { ...asked, id, org, owner, work: briefOf(work), createdAt: now, updatedAt: now };
    const reason = paused ? `paused by ${owner.name}` : null;
    const live = new LiveSchedule(
      schedule,
      newSchedule(rulesOf(schedule, blackouts(schedule)), now, reason),
      blackouts,
    );
    const writes = [saveSchedule(schedule, live.state, work), ...(by.record ?? [])];
    await recorder.commit(writes, [scheduleCreated(schedule, owner.name)]);
    controller.add(live);
    return live;
  }

  /** From now on it runs for whoever changed it: nobody can make it run something else with the rights of others. */
  change(live: LiveSchedule, { work, ...timing }: ScheduleChanges, by: By): Promise<void> {
    return this.#inTurn(live, async () => {
      const { store, clock, blackouts } = this.#deps;
      const kept = work ?? (await workOf(store.read, live.schedule.id));
      if (kept === undefined) throw gone(live);
      const now = clock.now();
      const owner = ownerOf(by);
      const schedule: Schedule = { ...live.schedule, ...timing, owner, work: briefOf(kept), updatedAt: now };
      // A task does not wait for a push job, nor the other way round.
      const before = kept.kind === live.schedule.work.kind ? live.state : { ...live.state, last: null };
      const step = stepSchedule(before, { type: 'changed' }, rulesOf(schedule, blackouts(schedule)), now);
      const changed = [...Object.keys(timing), ...(work === undefined ? [] : [work.kind])];
      const told = scheduleChanged(schedule, step.state.status, changed, owner.name);
      const writes = [saveSchedule(schedule, step.state, kept), ...(by.record ?? [])];
      await this.#deps.recorder.commit(writes, [...scheduleStepped(schedule, step.effects), told]);
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
    const { state, effects } = stepSchedule(live.state, event, live.rules, clock.now());
    if (state.status === live.state.status) return;
    const told = scheduleChanged(schedule, state.status, ['state'], by.identity.name);
    const writes = [saveState(schedule.id, state), ...(by.record ?? [])];
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
  return { kind: 'push', command: String(work.job.command).slice(0, COMMAND_SHOWN) };
}
