import type { Clock } from '@muster/base';
import type { RandomBytes } from '@muster/platform/auth';

/** Digits of milliseconds, enough until the year 10889, and of entries within one of them. */
const TIME_DIGITS = 12;
const COUNT_DIGITS = 4;
const MOST_IN_ONE = 16 ** COUNT_DIGITS - 1;
const RANDOM_BYTES = 4;

/** Makes the id of an entry of a history. @param after Those until then stand before it, whoever made them. */
export type EntryIds = (after?: number) => string;

/** Ids of entries of histories: later ones are greater, as text, and no two processes make the same. */
export function entryIds(clock: Pick<Clock, 'now'>, random: RandomBytes): EntryIds {
  const own = Buffer.from(random(RANDOM_BYTES)).toString('hex');
  let last = 0;
  let count = 0;
  return (after = 0) => {
    const now = Math.max(clock.now(), after + 1);
    // A clock that is set back changes no order.
    if (now > last) {
      last = now;
      count = 0;
    } else if (count === MOST_IN_ONE) {
      last += 1;
      count = 0;
    } else count += 1;
    return `${hex(last, TIME_DIGITS)}${hex(count, COUNT_DIGITS)}${own}`;
  };
}

/** The time that an id stands for. */
export function entryTime(id: string): number {
  return Number.parseInt(id.slice(0, TIME_DIGITS), 16);
}

function hex(value: number, digits: number): string {
  return value.toString(16).padStart(digits, '0');
}
