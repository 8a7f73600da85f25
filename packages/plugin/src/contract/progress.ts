import { PROGRESS_LINE, PROGRESS_TEXT } from './limits.js';

/** How far a plugin says it is. */
export interface Progress {
  /** From 0 to 1. */
  readonly fraction: number;
  readonly text: string;
}

const LINE = /^::progress[ \t]+(\d{1,9}(?:\.\d{1,9})?)%?(?:[ \t]+(.*))?$/;
const NEWLINE = 0x0a;

/**
 * Lines `::progress 40 some text` in what a program writes on its third descriptor. Other lines are passed over, and so
 * are those that are too long: whatever the program writes, no more than one line of it is held.
 */
export class ProgressLines {
  #held: Buffer = Buffer.alloc(0);
  /** The line that is being read is too long. */
  #skipping = false;

  /** What the lines that end in this piece say, in their order. */
  read(piece: Uint8Array): Progress[] {
    const found: Progress[] = [];
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end !== -1; end = piece.indexOf(NEWLINE, from)) {
      this.#take(piece.subarray(from, end));
      const progress = this.end();
      if (progress !== null) found.push(progress);
      from = end + 1;
    }
    this.#take(piece.subarray(from));
    return found;
  }

  /** What the last line says, which may have no end. */
  end(): Progress | null {
    const line = this.#skipping ? '' : this.#held.toString('utf8');
    this.#held = Buffer.alloc(0);
    this.#skipping = false;
    return parseProgress(line);
  }

  #take(part: Uint8Array): void {
    if (this.#skipping || part.length === 0) return;
    this.#skipping = this.#held.length + part.length > PROGRESS_LINE;
    this.#held = this.#skipping ? Buffer.alloc(0) : Buffer.concat([this.#held, part]);
  }
}

function parseProgress(line: string): Progress | null {
  const [, percent, text = ''] = LINE.exec(line.replace(/\r$/, '')) ?? [];
  return percent === undefined ? null : progressOf(Number(percent) / 100, text);
}

/** Progress as it is told: no more than all, in one line of bounded length. Not a number is none. */
export function progressOf(fraction: number, text: string): Progress {
  const known = Number.isFinite(fraction) ? Math.min(Math.max(fraction, 0), 1) : 0;
  // Control characters would reach the terminals of those who watch.
  const line = text.replace(/\p{Cc}+/gu, ' ').trim();
  return { fraction: known, text: [...line.slice(0, 2 * PROGRESS_TEXT)].slice(0, PROGRESS_TEXT).join('') };
}
