/** The five fields of a cron expression, and the times that they name. */

export interface CronFields {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  /** 1 to 12. */
  readonly months: ReadonlySet<number>;
  /** 0 to 6, from Sunday on. */
  readonly weekdays: ReadonlySet<number>;
  /** Both days are restricted: then one of them is enough, as cron has it since Unix System V. */
  readonly eitherDay: boolean;
}

/** What is wrong with an expression, in words. */
export class CronMistake extends Error {}

interface Field {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  /** Names of values, from `least` on. */
  readonly names?: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const MINUTE: Field = { name: 'minute', least: 0, most: 59 };
const HOUR: Field = { name: 'hour', least: 0, most: 23 };
const DAY: Field = { name: 'day of the month', least: 1, most: 31 };
const MONTH: Field = { name: 'month', least: 1, most: 12, names: MONTHS };
/** 7 is Sunday, too. */
const WEEKDAY: Field = { name: 'day of the week', least: 0, most: 7, names: WEEKDAYS };

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** Longer ones list what a range or a step says shorter. */
const LONGEST = 512;

/** @throws CronMistake */
export function parseFields(expression: string): CronFields {
  if (expression.length > LONGEST) throw new CronMistake(`it has more than ${LONGEST} characters`);
  const text = expression.trim().toLowerCase();
  const words = (text.startsWith('@') ? macro(text) : text).split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = words;
  if (words.length !== 5 || minute === '') {
    const many = minute === '' ? 0 : words.length;
    const seconds = many === 6 ? ', and none for seconds' : '';
    throw new CronMistake(
      `it has ${many} fields; there are five${seconds}: minute, hour, day of the month, month, day of the week`,
    );
  }
  const weekdays = parseField(weekday, WEEKDAY);
  return {
    minutes: parseField(minute, MINUTE),
    hours: parseField(hour, HOUR),
    days: parseField(day, DAY),
    months: parseField(month, MONTH),
    weekdays: new Set([...weekdays].map((value) => value % 7)),
    eitherDay: !day.startsWith('*') && !weekday.startsWith('*'),
  };
}

function macro(text: string): string {
  const fields = Object.hasOwn(MACROS, text) ? MACROS[text] : undefined;
  if (fields === undefined) throw new CronMistake(`there is no ${text}, but ${Object.keys(MACROS).join(', ')}`);
  return fields;
}

function parseField(text: string, field: Field): Set<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) for (const value of parsePart(part, field)) values.add(value);
  return values;
}

const PART = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d+))?$/;

/** `*`, `5`, `1-5`, and of `*` and of ranges every so many, as in 10-50/20. */
function* parsePart(part: string, field: Field): Iterable<number> {
  const [, star, first, last, every] = PART.exec(part) ?? [];
  if (star === undefined && first === undefined) {
    throw new CronMistake(`${field.name}: '${part}' is no value, range or step, such as 5, 1-5, */15 or 10-50/20`);
  }
  const from = first === undefined ? field.least : numberOf(first, field);
  const to = first === undefined ? lastOf(field) : last === undefined ? from : endOf(last, field, from);
  if (to < from) {
    throw new CronMistake(
      `${field.name}: the range ${part} runs backwards; write ${from}-${lastOf(field)},${field.least}-${to}`,
    );
  }
  if (every !== undefined && star === undefined && last === undefined) {
    throw new CronMistake(`${field.name}: a step needs a range; write ${from}-${lastOf(field)}/${every}, not ${part}`);
  }
  const step = every === undefined ? 1 : Number(every);
  if (step < 1 || step > field.most) {
    throw new CronMistake(`${field.name}: the step of ${part} must be from 1 to ${field.most}`);
  }
  for (let value = from; value <= to; value += step) yield value;
}

/** Sunday once only, where all days are meant. */
function lastOf(field: Field): number {
  return field === WEEKDAY ? 6 : field.most;
}

/** `fri-sun` ends with the Sunday that follows. */
function endOf(word: string, field: Field, from: number): number {
  const value = numberOf(word, field);
  return field === WEEKDAY && value === 0 && from > 0 ? 7 : value;
}

function numberOf(word: string, { name, least, most, names = [] }: Field): number {
  const named = names.indexOf(word);
  if (named >= 0) return least + named;
  const value = /^\d{1,4}$/.test(word) ? Number(word) : Number.NaN;
  if (value >= least && value <= most) return value;
  const also = names.length === 0 ? '' : `, or ${names[0]} to ${names.at(-1)}`;
  throw new CronMistake(`${name}: '${word}' is not from ${least} to ${most}${also}`);
}
