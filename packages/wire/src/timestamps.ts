/** The dates of messages. Each parser answers milliseconds since the epoch, or null. */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `Sat, 12 May 2012 20:33:15 GMT`. */
export function formatRfc1123(ms: number): string {
  return new Date(ms).toUTCString();
}

/** `2012-05-12T20:33:15.000Z`: times of our own routes. */
export function formatIso(ms: number): string {
  return new Date(ms).toISOString();
}

// Day names and zones are not looked at, as in the deployed server (sheet §3.7).
const RFC1123 =
  /^[A-Z][a-z]{2}, (?<day>\d{1,2}) (?<month>[A-Z][a-z]{2}) (?<year>\d{4}) (?<time>\d\d:\d\d:\d\d) \S{1,5}$/;
const RFC850 = /^[A-Z][a-z]{5,8}, (?<day>\d\d)-(?<month>[A-Z][a-z]{2})-(?<year>\d\d) (?<time>\d\d:\d\d:\d\d) \S{1,5}$/;
const ASCTIME = /^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \d]\d) (?<time>\d\d:\d\d:\d\d) (?<year>\d{4})$/;

/** RFC 1123, RFC 850 and asctime, as HTTP has them; not ISO 8601 (sheet §3.7). */
export function parseHttpDate(text: string): number | null {
  const found = RFC1123.exec(text) ?? RFC850.exec(text) ?? ASCTIME.exec(text);
  const { day = '', month = '', year = '', time = '' } = found?.groups ?? {};
  if (found === null) return null;
  const monthIndex = MONTHS.indexOf(month);
  if (monthIndex < 0) return null;
  const [hour = 0, minute = 0, second = 0] = time.split(':').map(Number);
  if (hour > 23 || minute > 59 || second > 59) return null;
  const ms = Date.UTC(fullYear(year), monthIndex, Number(day), hour, minute, second);
  return new Date(ms).getUTCDate() === Number(day) ? ms : null;
}

/** RFC 850 has two digits: above 50 is the last century. */
function fullYear(digits: string): number {
  const year = Number(digits);
  if (digits.length !== 2) return year;
  return year > 50 ? 1900 + year : 2000 + year;
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$/;

/** `2012-05-12T20:33:15.000Z`, as the native dialect has it. */
export function parseIso(text: string): number | null {
  if (!ISO.test(text)) return null;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}
