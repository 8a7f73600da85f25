import { ESCAPE, plainText, withoutColours } from './ansi.js';

/** Text that grows, by lines: bytes as they came, and where lines begin in them. Nothing is decoded before it is seen. */
export class Lines {
  readonly #pieces: { readonly start: number; readonly bytes: Uint8Array }[] = [];
  /** Where each line begins. */
  #starts = new Float64Array(1024);
  #count = 1;
  #bytes = 0;
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true });

  get bytes(): number {
    return this.#bytes;
  }

  /** What comes after the last end of a line counts as one, if there is anything. */
  get count(): number {
    return this.#bytes === 0 ? 0 : this.#starts[this.#count - 1] === this.#bytes ? this.#count - 1 : this.#count;
  }

  /** Lines that have an end. */
  get whole(): number {
    return this.#count - 1;
  }

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    for (let at = bytes.indexOf(10); at >= 0; at = bytes.indexOf(10, at + 1)) this.#begin(this.#bytes + at + 1);
    this.#pieces.push({ start: this.#bytes, bytes });
    this.#bytes += bytes.length;
  }

  /** A line without its end, cut after so many bytes. */
  line(index: number, most = 4096): { readonly text: string; readonly cut: number } {
    const start = this.#starts[index] ?? 0;
    const next = index + 1 < this.#count ? (this.#starts[index + 1] ?? this.#bytes) - 1 : this.#bytes;
    const length = Math.max(0, next - start);
    const text = this.#decoder.decode(this.#slice(start, start + Math.min(length, most)));
    return { text: text.endsWith('\r') ? text.slice(0, -1) : text, cut: Math.max(0, length - most) };
  }

  /**
   * Those from one line on, and before another, in which a text stands, in capitals or not and whatever its colours; about so many
   * bytes are looked at. `next`: where to go on.
   */
  find(
    text: string,
    from: number,
    to: number,
    most: number,
  ): { readonly lines: readonly number[]; readonly next: number } {
    if (from >= to || text === '') return { lines: [], next: to };
    const begin = this.#starts[from] ?? 0;
    const next = Math.min(to, Math.max(from + 1, this.#lineAt(begin + most)));
    const end = next < this.#count ? (this.#starts[next] ?? this.#bytes) : this.#bytes;
    const all = this.#decoder.decode(this.#slice(begin, end));
    const needle = text.toLowerCase();
    const shown = withoutColours(all);
    // What else terminals would do may go over ends of lines, and is no text.
    const places = shown.includes(ESCAPE) ? inLines(all.split('\n'), needle) : inText(shown.toLowerCase(), needle);
    return { lines: places.map((line) => from + line), next };
  }

  /** The line that this byte stands in. */
  #lineAt(byte: number): number {
    let low = 0;
    let high = this.#count - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= byte) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #begin(at: number): void {
    if (this.#count === this.#starts.length) {
      const larger = new Float64Array(this.#starts.length * 2);
      larger.set(this.#starts);
      this.#starts = larger;
    }
    this.#starts[this.#count] = at;
    this.#count += 1;
  }

  #slice(start: number, end: number): Uint8Array {
    const out = new Uint8Array(end - start);
    for (let index = this.#pieceAt(start); index < this.#pieces.length; index += 1) {
      const piece = this.#pieces[index];
      if (piece === undefined || piece.start >= end) break;
      const part = piece.bytes.subarray(Math.max(0, start - piece.start), Math.max(0, end - piece.start));
      out.set(part, Math.max(0, piece.start - start));
    }
    return out;
  }

  /** The piece that this byte stands in. */
  #pieceAt(byte: number): number {
    let low = 0;
    let high = this.#pieces.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#pieces[middle]?.start ?? 0) <= byte) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

/** Which of these lines have it. */
function inLines(lines: readonly string[], needle: string): readonly number[] {
  return lines.flatMap((line, index) => (plainText(line).toLowerCase().includes(needle) ? [index] : []));
}

/** The same for lines that stand in one text. */
function inText(text: string, needle: string): readonly number[] {
  const lines: number[] = [];
  let line = 0;
  let counted = 0;
  for (let at = text.indexOf(needle); at >= 0; ) {
    for (let end = text.indexOf('\n', counted); end >= 0 && end < at; end = text.indexOf('\n', counted)) {
      line += 1;
      counted = end + 1;
    }
    lines.push(line);
    const end = text.indexOf('\n', at);
    if (end < 0) break;
    at = text.indexOf(needle, end + 1);
  }
  return lines;
}
