/** One record of a CSV file, and the line on which it begins. */
export interface CsvRecord {
  readonly line: number;
  readonly fields: readonly string[];
}

/** A quoted field is not closed, or a record is longer than it may be. */
export class CsvError extends Error {
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

const QUOTE = '"';

/**
 * Records of comma-separated values as RFC 4180 has them, out of pieces of text: quoted fields may hold commas, quotes
 * twice, and line ends. Empty lines are none.
 * @param most Characters of a record.
 * @throws CsvError
 */
export async function* csvRecords(pieces: AsyncIterable<string>, most: number): AsyncGenerator<CsvRecord> {
  const reader = new CsvReader(most);
  let first = true;
  for await (const piece of pieces) {
    const text = first ? piece.replace(/^\uFEFF/, '') : piece;
    first = false;
    yield* reader.take(text);
  }
  yield* reader.end();
}

/** What has been read of a record that has not ended yet. */
class CsvReader {
  readonly #most: number;
  #fields: string[] = [];
  #field = '';
  #state: 'plain' | 'quoted' | 'closing' = 'plain';
  #wasQuoted = false;
  #length = 0;
  #line = 1;
  #begins = 1;

  constructor(most: number) {
    this.#most = most;
  }

  *take(text: string): Generator<CsvRecord> {
    for (const character of text) {
      if (++this.#length > this.#most) throw new CsvError(this.#begins, 'it is too long, or a quote is not closed');
      if (this.#state === 'quoted') {
        if (character === '\n') this.#line += 1;
        if (character === QUOTE) this.#state = 'closing';
        else this.#field += character;
      } else if (character === QUOTE && this.#state === 'closing') {
        this.#field += QUOTE;
        this.#state = 'quoted';
      } else if (character === QUOTE && this.#field === '' && !this.#wasQuoted) {
        this.#state = 'quoted';
        this.#wasQuoted = true;
      } else if (character === ',') {
        this.#endField();
      } else if (character === '\n') {
        yield* this.#endRecord();
        this.#line += 1;
        this.#begins = this.#line;
      } else if (character !== '\r') {
        this.#field += character;
        this.#state = 'plain';
      }
    }
  }

  *end(): Generator<CsvRecord> {
    if (this.#state === 'quoted') throw new CsvError(this.#begins, 'a quote is not closed');
    yield* this.#endRecord();
  }

  #endField(): void {
    this.#fields.push(this.#field);
    this.#field = '';
    this.#state = 'plain';
    this.#wasQuoted = false;
  }

  *#endRecord(): Generator<CsvRecord> {
    const empty = this.#fields.length === 0 && this.#field === '' && !this.#wasQuoted;
    if (!empty) {
      this.#endField();
      yield { line: this.#begins, fields: this.#fields };
    }
    this.#fields = [];
    this.#wasQuoted = false;
    this.#length = 0;
  }
}
