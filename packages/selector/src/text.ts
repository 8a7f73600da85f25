/**
 * The attributes of an event: text by name, undefined where there is none. A Map is one.
 *
 * They are text because that is how they travel. Text that is a JSON number counts as that number, too, wherever a
 * number is asked for: `81.0` is `= 81`, `> 80` and `= '81.0'`, but not `= '81'`. There are no booleans.
 */
export interface TextAttributes {
  get(name: string): string | undefined;
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** Whether the whole text is a number as JSON writes one: no plus sign, no leading zeros, no space. */
export function isJsonNumber(text: string): boolean {
  return mayBeNumber(text) && JSON_NUMBER.test(text);
}

/** What a text attribute is as a value: the (finite, double) number it looks like, else the text itself. */
export function textAttribute(text: string): string | number {
  if (!mayBeNumber(text) || !JSON_NUMBER.test(text)) return text;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

/** Most text is told by its first character. */
function mayBeNumber(text: string): boolean {
  const first = text.charCodeAt(0);
  return (first >= 48 && first <= 57) || first === 45;
}
