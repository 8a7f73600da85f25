import { TextDecoder } from 'node:util';
import type { Colour, StreamName } from '../../../output.js';
import { printable, printableLines } from '../../../printable.js';

/** Some of what a node wrote. `offset` counts all that its command wrote to this stream. */
export interface WrittenPiece {
  readonly node: string;
  readonly stream: StreamName;
  readonly offset: number;
  readonly data: Uint8Array;
}

/** Text, and where it goes: whole lines, but where those that have not ended are shown. */
export interface ShownText {
  readonly to: StreamName;
  readonly text: string;
  /** No node wrote it: it begins a line. */
  readonly apart?: true;
}

export interface LineLook {
  /** Stands in front of each line; null: lines of one node, which need no name. */
  readonly names: readonly string[] | null;
  readonly paint: (text: string, colour: Colour, to: StreamName) => string;
  /** Of these streams text is shown as it comes, before its line has ended. Not for lines with names in front. */
  readonly atOnce?: readonly StreamName[];
}

const LF = 10;
/** A line that grows longer is shown in pieces, so that one without an end is not kept whole. */
const MOST_LINE_BYTES = 16 * 1024;
/** Up to so many names are as wide as the widest, and have colours. */
export const MOST_ALIGNED = 10;
const STREAMS: readonly StreamName[] = ['stdout', 'stderr'];
const COLOURS: readonly Colour[] = ['cyan', 'green', 'yellow', 'magenta', 'blue'];

interface SourceState {
  /** Where the next byte stands. */
  next: number;
  /** Of a line that has not ended. */
  begun: Buffer;
  /** Keeps the begun character, where text is shown at once. */
  readonly decoder: TextDecoder | null;
}

type Source = SourceState & Pick<WrittenPiece, 'node' | 'stream'>;

/**
 * What nodes write, as lines for people: pure, pieces in and text out. What is repeated after a break is not shown again,
 * what is left out is told.
 */
export class LiveLines {
  readonly #look: LineLook;
  readonly #width: number;
  readonly #aligned: readonly string[];
  readonly #sources = new Map<string, Source>();

  constructor(look: LineLook) {
    this.#look = look;
    const names = look.names ?? [];
    this.#aligned = names.length <= MOST_ALIGNED ? names : [];
    this.#width = Math.max(0, ...this.#aligned.map((name) => printable(name).length));
  }

  /** The lines that end with these bytes. */
  push({ node, stream, offset, data }: WrittenPiece): ShownText[] {
    const source = this.#sourceOf(node, stream);
    const fresh = data.subarray(Math.max(0, source.next - offset));
    if (fresh.length === 0) return [];
    const lost = Math.max(0, offset - source.next);
    const shown = lost === 0 ? [] : this.#gap(source, lost);
    source.next = offset + data.length;
    const text = source.decoder === null ? this.#lines(source, fresh) : textOf(source.decoder, fresh);
    if (text !== '') shown.push({ to: stream, text });
    return shown;
  }

  /** Nothing more comes of this node: its lines that have not ended. */
  endOf(node: string): ShownText[] {
    return STREAMS.flatMap((stream) => {
      const source = this.#sources.get(keyOf(node, stream));
      return source === undefined ? [] : this.#rest(source);
    });
  }

  /** Nothing more comes: lines that have not ended. */
  end(): ShownText[] {
    return [...this.#sources.values()].flatMap((source) => this.#rest(source));
  }

  #sourceOf(node: string, stream: StreamName): Source {
    const key = keyOf(node, stream);
    const known = this.#sources.get(key);
    if (known !== undefined) return known;
    const atOnce = this.#look.names === null && this.#look.atOnce?.includes(stream) === true;
    const decoder = atOnce ? new TextDecoder('utf-8', { ignoreBOM: true }) : null;
    const source = { node, stream, next: 0, begun: Buffer.alloc(0), decoder };
    this.#sources.set(key, source);
    return source;
  }

  #gap(source: Source, lost: number): ShownText[] {
    const text = `${printable(source.node)} ${source.stream}: ${lost} bytes in the middle were not kept (output limit)\n`;
    return [...this.#rest(source), { to: source.stream, text, apart: true }];
  }

  #rest(source: Source): ShownText[] {
    const { begun, node, stream, decoder } = source;
    if (decoder !== null) {
      const text = decoder.decode();
      return text === '' ? [] : [{ to: stream, text }];
    }
    source.begun = Buffer.alloc(0);
    return begun.length === 0 ? [] : [{ to: stream, text: this.#line(node, stream, begun) }];
  }

  #lines(source: Source, data: Uint8Array): string {
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

/** No name of a node has a blank in it. */
function keyOf(node: string, stream: StreamName): string {
  return `${stream} ${node}`;
}

function textOf(decoder: TextDecoder, data: Uint8Array): string {
  return printableLines(decoder.decode(data, { stream: true }));
}
