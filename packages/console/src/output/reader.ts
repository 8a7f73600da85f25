import { apiError } from '../api/errors.js';
import { Lines } from './lines.js';
import type { Pieces } from './pieces.js';
import type { Asked, ReadState, Told } from './protocol.js';

type Opened = Extract<Asked, { readonly type: 'open' }>;

export interface Surroundings {
  readonly tell: (told: Told) => void;
  readonly open: (opened: Opened, ended: AbortSignal) => Promise<Pieces>;
  readonly later: (work: () => void, ms: number) => void;
  readonly now: () => number;
}

/** Most of a stream that a tab keeps; the rest is to be downloaded. */
export const MOST_BYTES = 128 * 1024 * 1024;
/** Looked through before somebody else gets a turn. */
const SEARCH_BYTES = 1024 * 1024;
export const MOST_FOUND = 10_000;
/** How far it has come is told at most so often. */
const TELL_MS = 50;

/** Has the output of one stream, out of the way of the page: reads it, gives lines of it, and looks for text in it. */
export class Reader {
  readonly #around: Surroundings;
  readonly #lines = new Lines();
  readonly #ended = new AbortController();
  #state: ReadState = 'reading';
  #told = Number.NEGATIVE_INFINITY;
  #telling = false;
  #needle = '';
  /** The next line to be looked at, and how many were found. */
  #searched = 0;
  #found = 0;
  #searching = false;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  asked(asked: Asked): void {
    switch (asked.type) {
      case 'open':
        void this.#read(asked);
        break;
      case 'ended':
        this.#ended.abort();
        break;
      case 'rows':
        this.#rows(asked.first, asked.end);
        break;
      case 'find':
        this.#needle = asked.text;
        this.#searched = 0;
        this.#found = 0;
        this.#search();
    }
  }

  async #read(opened: Opened): Promise<void> {
    const { tell, open } = this.#around;
    try {
      const { headers, bytes } = await open(opened, this.#ended.signal);
      this.#head(headers());
      for await (const piece of bytes) {
        this.#lines.add(piece);
        if (this.#lines.bytes > MOST_BYTES) {
          this.#state = 'cut';
          break;
        }
        this.#grown();
      }
      if (this.#state === 'reading') this.#state = 'done';
      this.#head(headers());
    } catch (thrown) {
      const { status, code, message, fix } = apiError(thrown);
      tell({ type: 'failed', status, code, message, fix });
    }
    this.#size();
    this.#search();
  }

  #head(headers: Headers): void {
    const dropped = Number(headers.get('x-muster-dropped-bytes') ?? 0);
    this.#around.tell({ type: 'head', missing: headers.get('x-muster-missing'), dropped });
  }

  #grown(): void {
    this.#search();
    if (this.#telling) return;
    const { now, later } = this.#around;
    const wait = this.#told + TELL_MS - now();
    if (wait <= 0) return this.#size();
    this.#telling = true;
    later(() => {
      this.#telling = false;
      this.#size();
    }, wait);
  }

  #size(): void {
    this.#told = this.#around.now();
    this.#around.tell({ type: 'size', lines: this.#lines.count, bytes: this.#lines.bytes, state: this.#state });
  }

  #rows(first: number, end: number): void {
    const rows = [];
    for (let index = first; index < Math.min(end, this.#lines.count); index += 1) rows.push(this.#lines.line(index));
    this.#around.tell({ type: 'rows', first, rows });
  }

  /** Looks on from where it was, a piece at a time, until all that is there was looked through. */
  #search(): void {
    if (this.#searching || this.#needle === '') return;
    this.#searching = true;
    const look = (): void => {
      const { tell, later } = this.#around;
      const text = this.#needle;
      // A line that is not whole yet is looked at when it is.
      const to = this.#state === 'reading' ? this.#lines.whole : this.#lines.count;
      const { lines, next } = this.#lines.find(text, this.#searched, to, SEARCH_BYTES);
      const taken = lines.slice(0, MOST_FOUND - this.#found);
      this.#found += taken.length;
      this.#searched = next;
      const all = text === '' || next >= to || this.#found === MOST_FOUND;
      if (text !== '') tell({ type: 'found', text, lines: taken, all });
      if (!all) return later(look, 0);
      this.#searching = false;
    };
    look();
  }
}
