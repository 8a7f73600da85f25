import type { Counts } from '../api/types.gen.js';
import { number, plural } from '../parts/numbers.js';
import { timeOfDay } from '../parts/when.js';

/** What a picture of hours shows. @param begins When each begins, ISO 8601. */
export function hoursInWords(what: string, begins: readonly string[], perHour: readonly number[]): string {
  const total = perHour.reduce((sum, each) => sum + each, 0);
  const said = `${what} in the last ${plural(begins.length, 'hour')}: ${number(total)}`;
  if (total === 0) return said;
  const most = Math.max(...perHour);
  const [at = ''] = begins.slice(perHour.indexOf(most));
  const when = timeOfDay(Date.parse(at));
  return `${said}, most in the hour from ${when}: ${number(most)}`;
}

/** Beside the picture: how high its highest bar is, and what all of them are together. */
export function hoursText(
  { per_hour, total }: Pick<Counts['counts'][number], 'per_hour' | 'total'>,
  up: number,
): string {
  const most = total === 0 ? '' : `at most ${number(Math.max(...per_hour))} an hour, `;
  return `${most}${number(total)} in ${plural(per_hour.length, 'hour')}; came up ${number(up)} ×`;
}
