import { type CronFields, CronMistake, parseFields } from './fields.js';
import { matchFrom } from './match.js';
import type { Zone } from './zone.js';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/**
 * When something is to run again and again: five fields of cron, in a time zone. All times are milliseconds since the epoch.
 *
 * Where clocks are set forward, a time that does not exist is the next minute that does; where they are set back, a time that
 * exists twice is meant once, the first. With every hour (`*`) it goes by the time that passes instead: nothing is left out,
 * and nothing added, when clocks are set.
 */
export class Cron {
  readonly expression: string;
  readonly zone: Zone;
  readonly #fields: CronFields;

  /** @throws CronMistake Also when it never comes, as 30 February does not. */
  constructor(expression: string, zone: Zone) {
    this.expression = expression.trim();
    this.zone = zone;
    this.#fields = parseFields(expression);
    if (matchFrom(this.#fields, Date.UTC(2000, 0, 1)) === null) {
      throw new CronMistake('it never comes: no year has such a day');
    }
  }

  /** The next time after this one. */
  after(at: number): number {
    return this.#fields.hours.size === 24 ? this.#passing(at) : this.#byTheWall(at);
  }

  /** The last of its times from `from` to `to`; null: there is none. */
  last(from: number, to: number): number | null {
    if (this.after(from - 1) > to) return null;
    let low = from - 1;
    let high = to;
    // What comes after `low` has come by then, what comes after `high` has not.
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.after(middle) <= to) low = middle;
      else high = middle;
    }
    return this.after(low);
  }

  #byTheWall(at: number): number {
    for (let wall = nextMinute(this.zone.wallAt(at)); ; wall += MINUTE_MS) {
      wall = this.#matchFrom(wall);
      const time = this.zone.firstAt(wall);
      // Otherwise the clock has shown it, and was set back since.
      if (time > at) return time;
    }
  }

  #passing(at: number): number {
    const wall = this.zone.wallAt(at);
    for (let time = at + nextMinute(wall) - wall; ; ) {
      const shown = this.zone.wallAt(time);
      const wait = this.#matchFrom(shown) - shown;
      if (wait === 0) return time;
      // Not over two changes of the clock at once.
      const step = wait > 48 * HOUR_MS ? wait - 36 * HOUR_MS : wait;
      time = this.zone.wallAt(time + step) - shown === step ? time + step : this.#change(time, time + step);
    }
  }

  /** The minute at which the clock is set, between these two times. */
  #change(from: number, to: number): number {
    const ahead = this.zone.wallAt(from) - from;
    let low = 0;
    let high = Math.ceil((to - from) / MINUTE_MS);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      const time = from + middle * MINUTE_MS;
      if (this.zone.wallAt(time) - time === ahead) low = middle;
      else high = middle;
    }
    const time = from + high * MINUTE_MS;
    const wall = this.zone.wallAt(time);
    return time + Math.ceil(wall / MINUTE_MS) * MINUTE_MS - wall;
  }

  #matchFrom(wall: number): number {
    const match = matchFrom(this.#fields, wall);
    if (match === null) throw new Error(`'${this.expression}' does not come any more`);
    return match;
  }
}

/** The first whole one after this time. */
function nextMinute(wall: number): number {
  return (Math.floor(wall / MINUTE_MS) + 1) * MINUTE_MS;
}
