import type { Colour, StreamName } from '../../../output.js';
import { printable, printableLines } from '../../../printable.js';

/** Some of what a node wrote. `offset` counts all that its command wrote to this stream. */
export interface WrittenPiece {
  readonly node: string;
  readonly stream: StreamName;
  readonly offset: number;
  readonly data: Uint8Array;
}

/** Text of whole lines, and where it goes. */
export interface ShownText {
  readonly to: StreamName;
  readonly text: string;
}

export interface LineLook {
  /** Stands in front of each line; null: lines of one node, which need no name. */
  readonly names: readonly string[] | null;
  readonly paint: (text: string, colour: Colour, to: StreamName) => string;
}

const LF = 10;
/** A line that grows longer is shown in pieces, so that one without an end is not kept whole. */
const MOST_LINE_BYTES = 16 * 1024;
/** Up to so many names are as wide as the widest, and have colours. */
export const MOST_ALIGNED = 10;
const COLOURS: readonly Colour[] = ['cyan', 'green', 'yellow', 'magenta', 'blue'];

interface SourceState {
  /** Where the next byte stands. */
  next: number;
  /** Of a line that has not ended. */
  begun: Buffer;
}

/**
 * What nodes write, as lines for people: pure, pieces in and text out. What is repeated after a break is not shown again,
 * what is left out is told.
 */
export class LiveLines {
  readonly #look: LineLook;
  readonly #width: number;
  readonly #aligned: readonly string[];
  readonly #sources = new Map<string, SourceState & Pick<WrittenPiece, 'node' | 'stream'>>();

  constructor(look: LineLook) {
    this.#look = look;
    const names = look.names ?? [];
    this.#aligned = names.length <= MOST_ALIGNED ? names : [];
    this.#width = Math.max(0, ...this.#aligned.map((name) => printable(name).length));
  }

  /** The lines that end with these bytes. */
  push({ node, stream, offset, data }: WrittenPiece): ShownText[] {
    const key = `${stream} ${node}`;
    const source = this.#sources.get(key) ?? { node, stream, next: 0, begun: Buffer.alloc(0) };
    this.#sources.set(key, source);
    const fresh = data.subarray(Math.max(0, source.next - offset));
    if (fresh.length === 0) return [];
    const lost = Math.max(0, offset - source.next);
    const shown = lost === 0 ? [] : this.#gap(source, lost);
    source.next = offset + data.length;
    const text = this.#lines(source, fresh);
    if (text !== '') shown.push({ to: stream, text });
    return shown;
  }

  /** Nothing more comes: lines that have not ended. */
  end(): ShownText[] {
    return [...this.#sources.values()].flatMap((source) => this.#rest(source));
  }

  #gap(source: SourceState & Pick<WrittenPiece, 'node' | 'stream'>, lost: number): ShownText[] {
    const text = `${printable(source.node)} ${source.stream}: ${lost} bytes in the middle were not kept (output limit)\n`;
    return [...this.#rest(source), { to: 'stderr', text }];
  }

  #rest(source: SourceState & Pick<WrittenPiece, 'node' | 'stream'>): ShownText[] {
    const { begun, node, stream } = source;
    source.begun = Buffer.alloc(0);
    return begun.length === 0 ? [] : [{ to: stream, text: this.#line(node, stream, begun) }];
  }

  #lines(source: SourceState & Pick<WrittenPiece, 'node' | 'stream'>, data: Uint8Array): string {
    let rest: Buffer = source.begun.length === 0 ? Buffer.from(data) : Buffer.concat([source.begun, data]);
    let text = '';
    for (;;) {
      const end = rest.indexOf(LF);
      const cut = end >= 0 && end < MOST_LINE_BYTES ? end : MOST_LINE_BYTES;
      if (cut > rest.length || (end < 0 && cut === rest.length)) break;
      text += this.#line(source.node, source.stream, rest.subarray(0, cut));
      rest = rest.subarray(cut === end ? end + 1 : cut);
    }
    source.begun = Buffer.from(rest);
    return text;
  }

  #line(node: string, stream: StreamName, bytes: Buffer): string {
    return `${this.#name(node, stream)}${printableLines(bytes.toString('utf8'))}\n`;
  }

  #name(node: string, stream: StreamName): string {
    if (this.#look.names === null) return '';
    const name = `${printable(node)}:`;
    const place = this.#aligned.indexOf(node);
    if (place < 0) return `${name} `;
    const colour = COLOURS[place % COLOURS.length] ?? 'cyan';
    return `${this.#look.paint(name, colour, stream)}${' '.repeat(this.#width + 2 - name.length)}`;
  }
}
