import { printable } from '../../printable.js';

const LF = 10;
/** A line that grows longer is shown in pieces, so that one without an end is not kept whole. */
const MOST_LINE_BYTES = 64 * 1024;

/**
 * Cuts what one stream of a node wrote into lines and puts the node's name in front of each, so that lines of many nodes
 * can stand below each other.
 */
export class NodeLines {
  readonly #name: Buffer;
  readonly #write: (data: Uint8Array) => Promise<void>;
  #begun = Buffer.alloc(0);

  constructor(node: string, write: (data: Uint8Array) => Promise<void>) {
    this.#name = Buffer.from(`${printable(node)}: `);
    this.#write = write;
  }

  /** The whole lines are written; the rest waits for its end. */
  async push(data: Uint8Array): Promise<void> {
    let rest = Buffer.concat([this.#begun, data]);
    const lines: Buffer[] = [];
    for (;;) {
      const end = rest.indexOf(LF);
      const cut = end >= 0 && end < MOST_LINE_BYTES ? end : MOST_LINE_BYTES;
      if (cut > rest.length) break;
      lines.push(...this.#line(rest.subarray(0, cut)));
      rest = rest.subarray(cut === end ? end + 1 : cut);
    }
    this.#begun = Buffer.from(rest);
    // In one piece, so that no line of another node comes in between.
    if (lines.length > 0) await this.#write(Buffer.concat(lines));
  }

  /** The stream has ended, perhaps in the middle of a line. */
  async end(): Promise<void> {
    const rest = this.#begun;
    this.#begun = Buffer.alloc(0);
    if (rest.length > 0) await this.#write(Buffer.concat(this.#line(rest)));
  }

  #line(line: Buffer): Buffer[] {
    return [this.#name, line, Buffer.of(LF)];
  }
}
