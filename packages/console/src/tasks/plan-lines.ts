import type { Balance } from '../api/types.gen.js';
import { filledLines } from '../parts/filled-lines.js';
import { timeOf } from '../parts/later-time.js';

/** How threads are shared out, as it is written down. */
export interface PlanLines {
  /** A day, a time and a number a line: `every day 07:00 5`. */
  readonly times: string;
  /** A group of names a line, those first that come first. */
  readonly queues: string;
  /** Until when nothing is balanced; '': it is. */
  readonly disabled: string;
}

/** As the server takes it. */
export interface Plan {
  readonly max_tasks: Readonly<Record<string, number>>;
  /** The first group gets what is left. */
  readonly queues: readonly (readonly string[])[];
  /** Seconds since the epoch. */
  readonly disabled: number | null;
}

export type WrongPlan = Partial<Record<keyof PlanLines, string>>;

const DAYS: Readonly<Record<string, string>> = {
  '*': 'every day',
  0: 'Sunday',
  1: 'Monday',
  2: 'Tuesday',
  3: 'Wednesday',
  4: 'Thursday',
  5: 'Friday',
  6: 'Saturday',
};
const DAYS_BY_WORD = new Map(
  Object.entries(DAYS).flatMap(([day, word]) => [
    [day, day],
    [word.toLowerCase(), day],
  ]),
);

/** `* 07:00`: every day from 07:00 on. */
export function whenOf(time: string): string {
  const [day = '', clock = ''] = time.split(' ');
  return `${DAYS[day] ?? day} ${clock}`;
}

/** @param now Milliseconds since the epoch. */
export function linesOfPlan(
  { max_tasks: times, queues, disabled, known_queues: known }: Balance,
  now: number,
): PlanLines {
  const later = typeof disabled === 'number' && disabled * 1000 > now;
  return {
    times: Object.entries(times ?? {})
      .map(([time, most]) => `${whenOf(time)} ${most}`)
      .join('\n'),
    queues: (queues ?? [known])
      .map((group) => group.join(' '))
      .reverse()
      .join('\n'),
    disabled: later ? new Date(disabled * 1000).toISOString() : '',
  };
}

/** What is sent, and what of it cannot be read. @param now Milliseconds since the epoch. */
export function planOfLines(
  lines: PlanLines,
  known: readonly string[],
  now: number,
): { readonly plan: Plan; readonly wrong: WrongPlan } {
  const wrong: { -readonly [Name in keyof PlanLines]?: string } = {};
  const times: [time: string, most: number][] = [];
  for (const [at, line] of filledLines(lines.times)) {
    const [, day = '', clock = '', most] = /^(.+?)\s+((?:[01]\d|2[0-3]):[0-5]\d)\s+(\d{1,9})$/.exec(line) ?? [];
    const key = DAYS_BY_WORD.get(day.toLowerCase().replaceAll(/\s+/g, ' '));
    if (key === undefined) wrong.times ??= `Line ${at} must be such as: every day 07:00 5, or Sunday 07:00 5.`;
    else times.push([`${key} ${clock}`, Number(most)]);
  }
  const seen = new Set<string>();
  const queues = filledLines(lines.queues).map(([at, line]) =>
    line.split(/[\s,]+/).filter((name) => {
      if (name === '') return false;
      if (!known.includes(name)) wrong.queues ??= `Line ${at}: there is no queue ${name}.`;
      if (seen.has(name)) wrong.queues ??= `Line ${at} names ${name} a second time.`;
      seen.add(name);
      return true;
    }),
  );
  const until = timeOf(lines.disabled, now);
  if (until === null) wrong.disabled = 'It must be +2h, or a time with its zone.';
  else if (until !== undefined && until < now) wrong.disabled = 'It is past.';
  return {
    plan: {
      max_tasks: Object.fromEntries(times),
      queues: queues.reverse(),
      disabled: typeof until === 'number' ? Math.floor(until / 1000) : null,
    },
    wrong,
  };
}
