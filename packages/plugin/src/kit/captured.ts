import { OUTPUT_BYTES } from './limits.js';

/** What a plugin wrote on one stream, up to a limit. */
export class Captured {
  readonly #pieces: Uint8Array[] = [];
  readonly #limit: number;
  #kept = 0;
  #all = 0;

  constructor(limit = OUTPUT_BYTES) {
    this.#limit = limit;
  }

  add(piece: Uint8Array): void {
    this.#all += piece.length;
    const kept = piece.subarray(0, this.#limit - this.#kept);
    if (kept.length === 0) return;
    this.#kept += kept.length;
    this.#pieces.push(kept);
  }

  /** Null when nothing was written. What was left out is told in a last line. */
  get text(): string | null {
    if (this.#all === 0) return null;
    const text = Buffer.concat(this.#pieces).toString('utf8');
    return this.#all === this.#kept ? text : `${text}\n(${this.#all - this.#kept} more bytes were left out here)\n`;
  }
}
