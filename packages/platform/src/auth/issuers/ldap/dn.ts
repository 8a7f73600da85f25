/** Of `cn=a+ou=b`, sorted: their order says nothing. */
type Rdn = readonly (readonly [type: string, value: string])[];

/**
 * A distinguished name (RFC 4514) as it is compared: whatever its case, its spaces and the way that it is escaped. null: it is none.
 * Attributes that tell upper from lower case name no groups.
 */
export function canonicalDn(text: string): string | null {
  const rdns: Rdn[] = [];
  let rdn: (readonly [string, string])[] = [];
  for (let at = 0; at <= text.length; ) {
    const pair = readPair(text, at);
    if (pair === null) return null;
    rdn.push([pair.type, pair.value]);
    const separator = text[pair.end];
    if (separator !== '+') {
      rdns.push(rdn.sort(([a, x], [b, y]) => (a === b ? compare(x, y) : compare(a, b))));
      rdn = [];
    }
    at = pair.end + 1;
  }
  return JSON.stringify(rdns);
}

interface Pair {
  readonly type: string;
  readonly value: string;
  /** Where what separates it from the next one stands, or the text ends. */
  readonly end: number;
}

function readPair(text: string, start: number): Pair | null {
  const [whole = '', type = ''] = /^\s*([a-z][a-z0-9-]*|\d+(?:\.\d+)*)\s*=\s*/i.exec(text.slice(start)) ?? [];
  if (type === '') return null;
  const bytes: number[] = [];
  /** Up to which a space is part of the value: one that is escaped is. */
  let kept = 0;
  let at = start + whole.length;
  while (at < text.length && !',;+'.includes(text[at] ?? '')) {
    const escaped = /^\\(?:([0-9a-f]{2})|([ "#+,;<=>\\]))/i.exec(text.slice(at, at + 3));
    const char = escaped?.[2] ?? String.fromCodePoint(text.codePointAt(at) ?? 0);
    if (escaped === null && /["\\<>]/.test(char)) return null;
    bytes.push(...(escaped?.[1] === undefined ? Buffer.from(char) : [Number.parseInt(escaped[1], 16)]));
    if (escaped !== null || char !== ' ') kept = bytes.length;
    at += escaped === null ? char.length : escaped[0].length;
  }
  const value = Buffer.from(bytes.slice(0, kept)).toString('utf8');
  return { type: type.toLowerCase(), value: value.replace(/ +/g, ' ').toLowerCase(), end: at };
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
