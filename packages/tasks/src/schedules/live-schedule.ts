import type { BlackoutAt } from '../calendars/blackout.js';
import { Cron, CronMistake, Zone } from './cron/index.js';
import type { ScheduleRules, ScheduleState } from './machine.js';
import type { Schedule, Timing } from './types.js';

/** A schedule in memory. What happens to one happens one after the other. */
export class LiveSchedule {
  schedule: Schedule;
  state: ScheduleState;
  rules: ScheduleRules;
  removed = false;
  /** What failed, or awaits its nodes, is not tried again before. */
  retryAt = 0;
  #last: Promise<unknown> = Promise.resolve();
  readonly #blackouts: Blackouts;

  constructor(schedule: Schedule, state: ScheduleState, blackouts: Blackouts) {
    this.schedule = schedule;
    this.state = state;
    this.#blackouts = blackouts;
    this.rules = rulesOf(schedule, blackouts(schedule));
  }

  change(schedule: Schedule, state: ScheduleState): void {
    this.schedule = schedule;
    this.state = state;
    this.rules = rulesOf(schedule, this.#blackouts(schedule));
  }

  /** When it is to be looked at by itself; null: something else has to happen first. */
  get wakeAt(): number | null {
    const { nextAt, blackout } = this.state;
    return nextAt === null ? null : Math.max(Math.min(nextAt, blackout?.until ?? nextAt), this.retryAt);
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** When the calendars that a schedule heeds let nothing start, as they are then. */
export type Blackouts = (schedule: Pick<Schedule, 'notDuring' | 'org'>) => BlackoutAt;

/** @throws CronMistake */
export function rulesOf({ cron, timezone, missed, overlap, blackout }: Timing, blackoutAt: BlackoutAt): ScheduleRules {
  const zone = Zone.find(timezone);
  if (zone === undefined) throw new CronMistake(`there is no time zone '${timezone}'`);
  return { cron: new Cron(cron, zone), missed, overlap, blackoutAt, blackout };
}
