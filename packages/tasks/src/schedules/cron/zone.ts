/**
 * Time as clocks on the wall show it. A wall time is the number of milliseconds that a clock in UTC would show the same at:
 * so it is ordered, and it is reckoned with as with any number.
 */

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;
/** What is known of clocks is known of steps of this length in which none is set. */
const STEP_MS = 15 * MINUTE_MS;
const STEPS_KNOWN = 10_000;
/** More than any clock is apart from UTC, and more than any change of a clock. */
const APART_MS = 26 * HOUR_MS;

const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(?:\/[A-Za-z0-9_+-]+)*$/;

/** The rules of a time zone, as Node.js has them from the IANA database. */
export class Zone {
  readonly name: string;
  readonly #format: Intl.DateTimeFormat;
  /** How far it is ahead of UTC, by the step: to ask for it takes a hundred times as long. Null: clocks are set in it. */
  readonly #known = new Map<number, number | null>();

  private constructor(name: string, format: Intl.DateTimeFormat) {
    this.name = name;
    this.#format = format;
  }

  /** Undefined: there is none of this name, such as `Europe/Berlin` or `UTC`. */
  static find(name: string): Zone | undefined {
    if (name.length > 64 || !NAME.test(name)) return undefined;
    try {
      return new Zone(name, formatIn(name));
    } catch (error) {
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  /** What the clock on the wall shows. */
  wallAt(at: number): number {
    const step = Math.floor(at / STEP_MS);
    let ahead = this.#known.get(step);
    if (ahead === undefined) {
      if (this.#known.size >= STEPS_KNOWN) this.#known.clear();
      ahead = this.#aheadIn(step * STEP_MS);
      this.#known.set(step, ahead);
    }
    return ahead === null ? this.#asked(at) : at + ahead;
  }

  #aheadIn(from: number): number | null {
    const ahead = this.#asked(from) - from;
    const until = from + STEP_MS;
    return this.#asked(until) - until === ahead ? ahead : null;
  }

  #asked(at: number): number {
    const parts: Partial<Record<string, number>> = {};
    for (const { type, value } of this.#format.formatToParts(at)) parts[type] = Number(value);
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
    // Before the year 100 numbers of years mean another century; nobody's clock shows them.
    return Date.UTC(year, month - 1, day, hour, minute, second) + (((at % 1000) + 1000) % 1000);
  }

  /**
   * When the clock on the wall first shows this time or, where it is set forward over it, a later one: so a time that does
   * not exist is the moment of the change, and of one that exists twice the first is meant.
   */
  firstAt(wall: number): number {
    const before = this.#ahead(wall - APART_MS);
    const after = this.#ahead(wall + APART_MS);
    for (const ahead of before === after ? [before] : [before, after]) {
      if (this.#ahead(wall - ahead) === ahead) return wall - ahead;
    }
    return this.#reached(wall);
  }

  /** How far it is ahead of UTC. */
  #ahead(at: number): number {
    return this.wallAt(at) - at;
  }

  /** The first whole minute at which the clock shows this time or a later one, by halving. */
  #reached(wall: number): number {
    let low = Math.floor((wall - APART_MS) / MINUTE_MS);
    let high = Math.ceil((wall + APART_MS) / MINUTE_MS);
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (this.wallAt(middle * MINUTE_MS) >= wall) high = middle;
      else low = middle;
    }
    return high * MINUTE_MS;
  }
}

/** Making one takes thousands of times as long as using it. */
function formatIn(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
}
