/** What stands in the place of a value. */
export const MASKED = Buffer.from('***');

/** Of a value with several lines each is hidden that is as long as a value has to be: shorter ones stand in much that is no secret. */
const LINE_CHARACTERS = 8;

/** The same for a text that is whole. */
export function masked(text: string, values: readonly string[]): string {
  if (values.length === 0) return text;
  const mask = new Mask(values);
  return Buffer.concat([mask.write(Buffer.from(text)), mask.end()]).toString();
}

interface Pattern {
  readonly bytes: Buffer;
  /** At each position: how many of the bytes up to there are also the beginning. */
  readonly borders: Int32Array;
}

/**
 * Replaces values in a stream of bytes by `***`, wherever the pieces are cut that it comes in. Every occurrence is covered; those
 * that overlap become one. Of the bytes that came, those are held back that may be the beginning of a value.
 */
export class Mask {
  readonly #patterns: readonly Pattern[];
  /** How many bytes of each value the stream ends with now. */
  readonly #matched: number[];
  /** Bytes from `#at` on that have not been let out. */
  #held: Uint8Array = new Uint8Array(0);
  #at = 0;
  /** Occurrences, `[from, to)`, that were not come to, in order. */
  #found: (readonly [number, number])[] = [];
  /** Up to here nothing is let out. */
  #hiddenUntil = 0;

  /** White space around a value, or a line of it, is not part of it. @param values None is empty. */
  constructor(values: Iterable<string>) {
    const texts = new Set([...values].flatMap(hiddenOf));
    this.#patterns = [...texts].filter((text) => text !== '').map((text) => patternOf(Buffer.from(text)));
    this.#matched = this.#patterns.map(() => 0);
  }

  /** What can be let out now. */
  write(data: Uint8Array): Uint8Array {
    const from = this.#at + this.#held.length;
    for (const [index, pattern] of this.#patterns.entries()) this.#search(index, pattern, data, from);
    this.#found.sort(([one], [other]) => one - other);
    this.#held = Buffer.concat([this.#held, data]);
    return this.#letOut(from + data.length - Math.max(0, ...this.#matched));
  }

  /** What was held back, as nothing more comes. */
  end(): Uint8Array {
    return this.#letOut(this.#at + this.#held.length);
  }

  #search(index: number, { bytes, borders }: Pattern, data: Uint8Array, from: number): void {
    const [first] = bytes;
    let matched = this.#matched[index] ?? 0;
    for (let at = 0; at < data.length; at += 1) {
      if (matched === 0 && data[at] !== first) {
        const next = data.indexOf(first ?? 0, at);
        if (next < 0) break;
        at = next;
      }
      while (matched > 0 && bytes[matched] !== data[at]) matched = borders[matched - 1] ?? 0;
      if (bytes[matched] === data[at]) matched += 1;
      if (matched < bytes.length) continue;
      const to = from + at + 1;
      this.#found.push([to - bytes.length, to]);
      matched = borders[matched - 1] ?? 0;
    }
    this.#matched[index] = matched;
  }

  #letOut(end: number): Uint8Array {
    const pieces: Uint8Array[] = [];
    let at = this.#at;
    while (at < end) {
      const [next] = this.#found;
      if (next !== undefined && next[0] <= at) {
        if (next[0] >= this.#hiddenUntil) pieces.push(MASKED);
        this.#hiddenUntil = Math.max(this.#hiddenUntil, next[1]);
        this.#found.shift();
        continue;
      }
      const to = Math.min(end, next?.[0] ?? end);
      const shown = Math.min(Math.max(at, this.#hiddenUntil), to);
      pieces.push(this.#held.subarray(shown - this.#at, to - this.#at));
      at = to;
    }
    this.#held = this.#held.subarray(end - this.#at);
    this.#at = end;
    return Buffer.concat(pieces);
  }
}

/** Programs show a key line by line, or one line of it. */
function hiddenOf(value: string): string[] {
  const lines = value.split(/[\r\n]+/).map((line) => line.trim());
  return [value.trim(), ...lines.filter(({ length }) => length >= LINE_CHARACTERS)];
}

function patternOf(bytes: Buffer): Pattern {
  const borders = new Int32Array(bytes.length);
  for (let at = 1, length = 0; at < bytes.length; at += 1) {
    while (length > 0 && bytes[length] !== bytes[at]) length = borders[length - 1] ?? 0;
    if (bytes[length] === bytes[at]) length += 1;
    borders[at] = length;
  }
  return { bytes, borders };
}
