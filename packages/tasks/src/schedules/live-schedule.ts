import { Cron, CronMistake, Zone } from './cron/index.js';
import type { ScheduleRules, ScheduleState } from './machine.js';
import type { Schedule, Timing } from './types.js';

/** A schedule in memory. What happens to one happens one after the other. */
export class LiveSchedule {
  schedule: Schedule;
  state: ScheduleState;
  rules: ScheduleRules;
  removed = false;
  /** What failed is not tried again before. */
  retryAt = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(schedule: Schedule, state: ScheduleState) {
    this.schedule = schedule;
    this.state = state;
    this.rules = rulesOf(schedule);
  }

  change(schedule: Schedule, state: ScheduleState): void {
    this.schedule = schedule;
    this.state = state;
    this.rules = rulesOf(schedule);
  }

  /** When it is to be looked at by itself; null: something else has to happen first. */
  get wakeAt(): number | null {
    const { nextAt } = this.state;
    return nextAt === null ? null : Math.max(nextAt, this.retryAt);
  }

  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }
}

/** @throws CronMistake */
export function rulesOf({ cron, timezone, missed, overlap }: Timing): ScheduleRules {
  const zone = Zone.find(timezone);
  if (zone === undefined) throw new CronMistake(`there is no time zone '${timezone}'`);
  return { cron: new Cron(cron, zone), missed, overlap };
}
