import { number, plural } from '../parts/numbers.js';

/** What a picture of hours shows. @param begins When each begins, ISO 8601. */
export function hoursInWords(what: string, begins: readonly string[], perHour: readonly number[]): string {
  const total = perHour.reduce((sum, each) => sum + each, 0);
  const said = `${what} in the last ${plural(begins.length, 'hour')}: ${number(total)}`;
  if (total === 0) return said;
  const most = Math.max(...perHour);
  const [at = ''] = begins.slice(perHour.indexOf(most));
  const when = new Date(at).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
  return `${said}, most in the hour from ${when}: ${number(most)}`;
}
