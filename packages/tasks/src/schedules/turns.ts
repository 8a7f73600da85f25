import type { Clock } from '@muster/base';
import { type Identity, principalNow } from '@muster/platform/auth';
import type { Recorder } from '@muster/platform/log';
import type { Store, Write } from '@muster/store';
import { MusterError } from '../errors.js';
import { scheduleRan, scheduleStepped } from './events.js';
import { noteMissed, noteStarted } from './history.js';
import type { LiveSchedule } from './live-schedule.js';
import { type ScheduleStep, stepSchedule } from './machine.js';
import { mayStart, type RightsOf } from './owner.js';
import { saveState, workOf } from './repository.js';
import type { Runs } from './runs.js';

export interface TurnsDeps {
  readonly store: Store;
  readonly recorder: Recorder;
  readonly clock: Clock;
  readonly auth: RightsOf;
  readonly runs: Runs;
}

/** A run that somebody wants besides those that are due. */
interface Asked {
  readonly as: Identity;
  readonly record: (run: string) => Write;
}

/** Why a schedule cannot run until somebody sees to it. */
class Held extends Error {}

/** Steps of one schedule: each is stored, with what it starts, and only then is it so. */
export class Turns {
  readonly #deps: TurnsDeps;

  constructor(deps: TurnsDeps) {
    this.#deps = deps;
  }

  /**
   * Runs what is due.
   * @throws MusterError `store_unavailable`, GuardFailed when the organization is gone; nothing has changed then.
   */
  async look(live: LiveSchedule): Promise<void> {
    if (live.removed) return;
    const goesOn = await this.#goesOn(live);
    const now = this.#deps.clock.now();
    const step = stepSchedule(live.state, { type: 'look', goesOn }, live.rules, now);
    const run = step.effects.find((effect) => effect.type === 'run');
    if (run === undefined) {
      if (step.state !== live.state) await this.#store(live, step);
      return;
    }
    try {
      await this.#run(live, step, run.dueAt, null);
    } catch (error) {
      await this.#refused(live, step, run.dueAt, error);
    }
  }

  /**
   * One run more, now, for whoever wants it.
   * @param record What is stored with it.
   * @throws MusterError as when it is started by hand.
   */
  async runNow(live: LiveSchedule, as: Identity, record: (run: string) => Write): Promise<string> {
    return this.#run(live, { state: live.state, effects: [] }, this.#deps.clock.now(), { as, record });
  }

  async #goesOn({ schedule, state, rules }: LiveSchedule): Promise<boolean> {
    if (rules.overlap === 'allow' || state.last === null) return false;
    const { run } = state.last;
    const found = await this.#deps.runs.statuses([{ kind: schedule.work.kind, run }]);
    return found.get(run)?.ended === false;
  }

  /** @param asked Who wants it now; null: it is due, and the owner's. */
  async #run(live: LiveSchedule, step: ScheduleStep, dueAt: number, asked: Asked | null): Promise<string> {
    const { store, recorder, clock, runs } = this.#deps;
    const { schedule, rules } = live;
    const identity = asked?.as ?? (await this.#owner(live));
    const work = await workOf(store.read, schedule.id);
    if (work === undefined) throw new Held('it does not know any more what to run');
    const now = clock.now();
    const after = (run: string) => stepSchedule(step.state, { type: 'started', dueAt, run }, rules, now).state;
    const along = (run: string) => ({
      writes: [
        saveState(schedule.id, after(run)),
        ...noteMissed(schedule, step.effects, now),
        noteStarted(schedule, dueAt, run, now),
        ...(asked === null ? [] : [asked.record(run)]),
      ],
      events: [...scheduleStepped(schedule, step.effects), scheduleRan(schedule, dueAt, run, now)],
    });
    const { run, stored } = await runs.start(schedule, work, identity, { dueAt: asked === null ? dueAt : null, along });
    if (!stored) await recorder.commit(along(run).writes, along(run).events);
    live.state = after(run);
    return run;
  }

  async #owner({ schedule }: LiveSchedule): Promise<Identity> {
    const { org, owner, work } = schedule;
    const identity = await principalNow(this.#deps.auth.repository, org, owner);
    if (identity === null)
      throw new Held(`${owner.name}, for whom it runs, does not belong to the organization any more`);
    if (await mayStart(this.#deps.auth, identity, org, work)) return identity;
    throw new Held(`${owner.name}, for whom it runs, may not start it any more`);
  }

  async #refused(live: LiveSchedule, step: ScheduleStep, dueAt: number, error: unknown): Promise<void> {
    const reason = reasonOf(error);
    if (reason === null) throw error;
    const now = this.#deps.clock.now();
    const refused = stepSchedule(step.state, { type: 'refused', dueAt, reason }, live.rules, now);
    const effects = [...step.effects, ...refused.effects];
    if (!isLasting(error)) return this.#store(live, { state: refused.state, effects });
    const held = stepSchedule(refused.state, { type: 'hold', reason }, live.rules, now);
    return this.#store(live, { state: held.state, effects: [...effects, ...held.effects] });
  }

  async #store(live: LiveSchedule, { state, effects }: ScheduleStep): Promise<void> {
    const { recorder, clock } = this.#deps;
    const { schedule } = live;
    const writes = [saveState(schedule.id, state), ...noteMissed(schedule, effects, clock.now())];
    await recorder.commit(writes, scheduleStepped(schedule, effects));
    live.state = state;
  }
}

/** In words; null: it may go better in a moment. */
function reasonOf(error: unknown): string | null {
  if (error instanceof Held) return error.message;
  if (!(error instanceof MusterError) || error.code === 'store_unavailable') return null;
  return error.message;
}

/** It will not go better by itself. */
function isLasting(error: unknown): boolean {
  return error instanceof Held || (error instanceof MusterError && LASTING.has(error.code));
}

/** Its queue, or the node group that it names, is gone; or who may start jobs there is somebody else now; or others have to agree. */
const LASTING: ReadonlySet<string> = new Set([
  ...['not_found', 'push_job_not_found', 'forbidden', 'approval_needed', 'secret_forbidden', 'secret_elsewhere'],
]);
